/*
 * CM: the communication manager
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/rules/add_finding.h"
#include "analyzer/model/words.h"

/* "qp1", "cm_id1, cm_id2 and 3 more" */
static void list_names(const struct model_destroy *destroy, char *text, size_t size)
{
	unsigned int shown = destroy->nchildren < 3 ? destroy->nchildren : 3;
	size_t used = 0;

	for (unsigned int i = 0; i < shown && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
					 destroy->children[i].name);
	if (destroy->nchildren > shown && used < size)
		snprintf(text + used, size - used, " and %u more", destroy->nchildren - shown);
}

/* CM-001: a channel. If its destroy never returned, it is not checked. */
void cm_001_channel(struct check *check, const struct model_destroy *destroy)
{
	const struct life *object = destroy->object;
	struct finding *finding;
	char names[128];

	if (object->kind != OBJECT_cm_channel || object->borrowed || !destroy->returned ||
	    !destroy->nchildren)
		return;
	finding = check_add_destroy(check, RULE_CM_001, destroy);
	if (!finding)
		return;
	list_names(destroy, names, sizeof(names));
	finding_text(&finding->says, "%s was destroyed while %s used it.", object->name, names);
	finding_step(finding, "created", &object->created);
	finding_step(finding, "blocked since", &destroy->children[0].created);
	finding_step(finding, "destroyed", &destroy->moment);
}

/* CM-001: a queue pair that was destroyed by ibv_destroy_qp(), after its identifier. */
void cm_001_late(struct check *check, const struct model_destroy *destroy)
{
	const struct life *qp = destroy->object;
	const struct moment *gone = &qp->orphaned;
	struct finding *finding;
	char id[32];

	if (qp->kind != OBJECT_qp || !gone->id.thread || !destroy->returned || destroy->failed)
		return;
	finding = check_add_hazard(check, RULE_CM_001, gone, qp, "id");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "Its identifier was destroyed before %s, which ibv_destroy_qp() destroyed at "
		     "%s: rdma_destroy_id(3) forbids that order.",
		     qp->name, event_id_text(destroy->moment.id, id));
	finding_text(&finding->breaks,
		     "librdmacm is another version, which may free what the queue pair uses (its "
		     "CQs and SRQ, if rdma_create_qp() made them), or the program calls "
		     "rdma_destroy_qp() with the identifier that is gone");
	finding_step(finding, "created", &qp->created);
	finding_step(finding, "identifier gone", gone);
	finding_step(finding, "destroyed", &destroy->moment);
}

/* CM-001: a queue pair that was never destroyed. */
void cm_001_qp(struct check *check, const struct model_leak *leak)
{
	const struct moment *moment = &leak->object->orphaned;
	struct finding *finding;

	if (!moment->id.thread)
		return;
	finding = findings_add(check->findings, RULE_CM_001,
			       findings_key(moment->verb, moment->stack, 0));
	if (!finding)
		return;
	finding_at(finding, moment);
	finding_text(&finding->where, "%s(): id", verb_infos[moment->verb].name);
	finding_text(&finding->object, "%s", leak->object->name);
	finding_text(&finding->says,
		     "Its identifier was destroyed before %s; rdma_destroy_qp() could no longer "
		     "destroy the queue pair, and it was never destroyed.",
		     leak->object->name);
	finding_step(finding, "created", &leak->object->created);
	finding_step(finding, "identifier gone", moment);
}

/* CM-002. Another thread may acknowledge while the destroy waits. */
void cm_002(struct check *check, const struct model_destroy *destroy)
{
	const struct life *object = destroy->object;
	const char *verb = verb_infos[destroy->moment.verb].name;
	char when[32], id[32];
	struct finding *finding;

	if (object->kind != OBJECT_cm_id || !object->events || destroy->returned ||
	    object->inherited || !check_ack_wait(check, RULE_CM_002, destroy))
		return;
	finding = check_add_destroy(check, RULE_CM_002, destroy);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s(%s) never returned (%s, until the %s ended): %" PRIu64 " event%s "
		     "retrieved for it, the last by %s, but not acknowledged.",
		     verb, object->name, words_span(destroy->end - destroy->moment.time, when),
		     destroy->ended ? "process" : "trace", object->events,
		     object->events == 1 ? " was" : "s were", event_id_text(object->got.id, id));
	finding_step(finding, "created", &object->created);
	finding_step(finding, "last event retrieved", &object->got);
	finding_step(finding, "destroy hangs", &destroy->moment);
}
