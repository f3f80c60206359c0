/*
 * CM: the communication manager
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/model/qp.h"
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

/* The queue pair of an identifier; NULL: it has none. */
static const struct life *find_qp(const struct life *id)
{
	for (const struct life_link *link = id->children; link; link = link->next_child)
		if (link->child->kind == OBJECT_qp && link->child->qp)
			return link->child;
	return NULL;
}

static bool has_talked(const struct life *id)
{
	return id->cm_call.verb == VERB_rdma_connect || id->cm_call.verb == VERB_rdma_accept;
}

/* The type of service is part of the route; iWARP applies it when it connects. */
static bool is_tos_late(const struct life *id)
{
	const struct life *qp = find_qp(id);

	return has_talked(id) || (id->routed && qp && !qp->qp->iwarp);
}

/* The timeout is an attribute of the modify to RTS. */
static bool is_ack_timeout_late(const struct life *id)
{
	const struct life *qp = find_qp(id);

	return qp && has_talked(id) && qp_state(qp) == ABI_QPS_RTS;
}

static const struct option {
	int64_t optname;
	const char *name, *takes_effect;
	bool (*is_late)(const struct life *id);
} options[] = {
	{ 0, "RDMA_OPTION_ID_TOS", "when the route is resolved", is_tos_late },
	{ 3, "RDMA_OPTION_ID_ACK_TIMEOUT", "when the queue pair goes to RTS", is_ack_timeout_late },
};

static const struct option *find_late_option(const struct life *id, const struct args *args)
{
	const int64_t optname = args_number(args, ARG(optname));

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i].optname == optname && options[i].is_late(id))
			return &options[i];
	return NULL;
}

static void report_option(struct check *check, const struct life *id, const struct moment *moment,
			  const struct option *option)
{
	struct finding *finding = check_add_hazard(check, RULE_STATE_001, moment, id, "optname");
	char talk[96] = "after its route was resolved", when[32], at[32];

	if (!finding)
		return;
	if (has_talked(id))
		snprintf(talk, sizeof(talk), "%s after its %s() at %s",
			 words_format_span(moment->time - id->cm_call.time, when),
			 verb_infos[id->cm_call.verb].name, event_id_text(id->cm_call.id, at));
	finding_text(&finding->says,
		     "%s of %s was set %s: it takes effect %s, and not later, but "
		     "rdma_set_option() returned 0.",
		     option->name, id->name, talk, option->takes_effect);
	finding_text(&finding->breaks,
		     "the program relies on the option: this connection has the value from before");
	finding->todo = "Set RDMA_OPTION_ID_TOS before rdma_resolve_route(), and "
			"RDMA_OPTION_ID_ACK_TIMEOUT before rdma_connect() or rdma_accept().";
	finding_step(finding, "created", &id->created);
	if (has_talked(id))
		finding_step(finding, "connected", &id->cm_call);
	finding_step(finding, "set", moment);
}

/* STATE-001: an option of an identifier that is set too late to take effect. */
void state_001_option(struct check *check, const struct trace_event *returned)
{
	const struct call *call = returned->call;
	struct moment moment = moment_of(returned);
	const struct option *option;
	const struct life *id;

	if (call->verb != VERB_rdma_set_option || call->failed || !call->args ||
	    args_number(call->args, ARG(level)))
		return;
	id = model_life(check->model, returned->process, OBJECT_cm_id,
			(uint64_t)args_number(call->args, ARG(id)));
	option = id && id->state == LIFE_LIVE && !id->inherited ? find_late_option(id, call->args)
								: NULL;
	if (option)
		report_option(check, id, &moment, option);
}

/* STATE-009: the kernel asks for the neighbour, and gives up before the answer. */
void state_009_resolution(struct check *check, const struct trace_event *returned)
{
	const struct call *call = returned->call;
	struct moment moment = moment_of(returned);
	struct finding *finding;
	const struct life *id;
	int64_t timeout;

	if (call->verb != VERB_rdma_resolve_addr || call->failed || !call->args ||
	    !args_get(call->args, ARG(timeout_ms), &timeout) || timeout)
		return;
	id = model_life(check->model, returned->process, OBJECT_cm_id,
			(uint64_t)args_number(call->args, ARG(id)));
	finding = id ? check_add_hazard(check, RULE_STATE_009, &moment, id, "timeout_ms") : NULL;
	if (!finding)
		return;
	finding_text(&finding->says, "rdma_resolve_addr() of %s has timeout_ms 0.", id->name);
	finding_text(&finding->breaks,
		     "the kernel does not know the neighbour with that address yet: "
		     "RDMA_CM_EVENT_ADDR_ERROR comes, with status -ETIMEDOUT");
	finding->todo = "Set timeout_ms to 1000 or more.";
	finding_step(finding, "resolved", &moment);
}

/*
 * STATE-005: the program made its queue pair ready for the response, but the peer was not told. Old
 * programs call rdma_accept() instead of rdma_establish().
 */
static void report_unestablished(struct check *check, const struct life *id,
				 const struct moment *end)
{
	struct finding *finding;
	char at[32], span[32];

	if (id->kind != OBJECT_cm_id || !id->responded.id.thread || id->established || id->ended ||
	    id->inherited || id->cm_call.verb != VERB_rdma_connect ||
	    id->prepared.time < id->responded.time)
		return;
	finding = check_add_hazard(check, RULE_STATE_005, &id->responded, id, "event");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s: RDMA_CM_EVENT_CONNECT_RESPONSE was retrieved at %s, and "
		     "rdma_init_qp_attr() called, but not rdma_establish() in the %s that "
		     "followed.",
		     id->name, event_id_text(id->responded.id, at),
		     words_format_span(end->time - id->responded.time, span));
	finding_text(&finding->breaks,
		     "the peer waits for RDMA_CM_EVENT_ESTABLISHED, which comes late or never");
	finding->todo = "Call rdma_establish() when the queue pair is in RTS.";
	finding_step(finding, "connected", &id->cm_call);
	finding_step(finding, "responded", &id->responded);
}

void state_005_unestablished(struct check *check, const struct model_destroy *destroy)
{
	if (destroy->returned && !destroy->failed)
		report_unestablished(check, destroy->object, &destroy->moment);
}

void state_005_never_established(struct check *check, const struct model_leak *leak)
{
	const struct moment end = { .time = leak->at.time };

	report_unestablished(check, leak->object, &end);
}

/* Has the thread modified a queue pair in this call, as librdmacm does with that of the id? */
static bool has_modified(struct check *check, const struct trace_event *returned)
{
	const struct call *call = returned->call;
	const struct life *qp = NULL;

	while ((qp = model_next_life(check->model, returned->process, qp)))
		if (qp->kind == OBJECT_qp && qp->qp &&
		    qp->qp->moved.id.thread == returned->id.thread &&
		    qp->qp->moved.time >= call->begin)
			return true;
	return false;
}

/* STATE-005: the end that asked has a queue pair, and the end that accepts has none. */
void state_005_no_qp(struct check *check, const struct trace_event *returned)
{
	const struct call *call = returned->call;
	struct moment moment = moment_of(returned);
	struct finding *finding;
	const struct life *id;

	if (call->verb != VERB_rdma_accept || call->failed || !call->args ||
	    args_number(call->args, ARG(conn_param.qp_num)))
		return;
	id = model_life(check->model, returned->process, OBJECT_cm_id,
			args_number(call->args, ARG(id)));
	if (!id || !id->asked || id->created.verb != VERB_rdma_get_cm_event || id->inherited ||
	    find_qp(id) || has_modified(check, returned))
		return;
	finding = check_add_hazard(check, RULE_STATE_005, &moment, id, "id");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "rdma_accept() of %s connected queue pair 0x%x of the peer to none: no "
		     "rdma_create_qp() had made one, and conn_param.qp_num is 0.",
		     id->name, id->asked);
	finding_text(&finding->breaks, "the peer sends: nothing answers its queue pair");
	finding->todo = "Call rdma_create_qp() before rdma_accept(), or set conn_param.qp_num to "
			"the number of the program's own queue pair.";
	finding_step(finding, "request", &id->created);
	finding_step(finding, "accepted", &moment);
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
		     "retrieved for it, the last, %s, by %s, but not acknowledged.",
		     verb, object->name,
		     words_format_span(destroy->end - destroy->moment.time, when),
		     destroy->ended ? "process" : "trace", object->events,
		     object->events == 1 ? " was" : "s were",
		     enum_name(enum_find("rdma_cm_event_type"), object->got_event) ?: "an event",
		     event_id_text(object->got.id, id));
	finding_step(finding, "created", &object->created);
	finding_step(finding, "last event retrieved", &object->got);
	finding_step(finding,
		     destroy->moment.verb == VERB_rdma_migrate_id ? "call hangs" : "destroy hangs",
		     &destroy->moment);
}

/* CM-002: rdma_migrate_id() waits like a destroy. */
void cm_002_migration(struct check *check, const struct model_exit *exit)
{
	const struct life *life = NULL;

	while ((life = model_next_life(check->model, exit->process, life))) {
		struct model_destroy wait = { .object = life,
					      .moment = life->leaving,
					      .ended = exit->how != MODEL_UNKNOWN,
					      .end = exit->time };

		if (life->leaving.id.thread)
			cm_002(check, &wait);
	}
}
