/*
 * LIFE-007, COMPL-005: the iterator of an extended CQ
 *
 * Not here: findings of `record --strict` (misuse.c).
 */
#include "analyzer/model/batch.h"
#include "analyzer/rules/add_finding.h"

/* A trace that continues another trace may begin in the middle of a batch. */
static bool is_cut_off(struct trace *trace)
{
	const struct thread *thread;

	for (uint32_t id = 1; (thread = trace_thread(trace, id)); id++)
		if (thread->carried)
			return true;
	return trace_loss(trace).overwritten != 0;
}

static struct finding *begin_finding(struct check *check, enum rule_id rule,
				     const struct moment *at, uint64_t key)
{
	struct finding *finding = findings_add(check->findings, rule, key);

	if (!finding)
		return NULL;
	finding_at(finding, at);
	return finding;
}

/* LIFE-007. The batch was open if ibv_next_poll() continued it. */
void life_007(struct check *check, const struct model_batch *told)
{
	const struct batch *batch = told->batch;
	const struct moment *gone = &batch->gone;
	char begin[32], next[32];
	struct finding *finding;

	if (!gone->id.thread || gone->id.thread != told->at.id.thread || told->empty ||
	    check_is_strict(check))
		return;
	finding =
		begin_finding(check, RULE_LIFE_007, gone, findings_key(gone->verb, gone->stack, 0));
	if (!finding)
		return;
	finding_text(&finding->where, "%s(): qp", verb_infos[gone->verb].name);
	finding_text(&finding->object, "%s", batch->name);
	finding_text(&finding->says,
		     "%s was destroyed inside a batch of completions of %s, its CQ: the batch was "
		     "started by ibv_start_poll() at %s and continued by ibv_next_poll() at %s.",
		     batch->name, told->cq->name, event_id_text(batch->start.id, begin),
		     event_id_text(told->at.id, next));
	finding_step(finding, "created", &batch->created);
	finding_step(finding, "batch began", &batch->start);
	finding_step(finding, "destroyed", gone);
	finding_step(finding, "batch continued", &told->at);
}

/* COMPL-005 */
void compl_005(struct check *check, const struct model_batch *told)
{
	struct finding *finding;

	if ((told->batch->started && !told->empty) || is_cut_off(check->trace) ||
	    check_is_strict(check))
		return;
	finding = begin_finding(check, RULE_COMPL_005, &told->at,
				findings_key(told->at.process, (uintptr_t)told->cq->handle, 0));
	if (!finding)
		return;
	finding_text(&finding->where, "%s(): cq", verb_infos[told->at.verb].name);
	finding_text(&finding->object, "%s", told->cq->name);
	if (told->empty)
		finding_text(&finding->says,
			     "ibv_next_poll() took a completion of %s after ibv_start_poll() had "
			     "found none.",
			     told->cq->name);
	else
		finding_text(&finding->says,
			     "ibv_next_poll() took a completion of %s without a preceding "
			     "ibv_start_poll().",
			     told->cq->name);
	finding_step(finding, "created", &told->cq->created);
	finding_step(finding, "taken", &told->at);
}
