/*
 * FORK: objects across fork()
 */
#include <stdio.h>

#include "analyzer/rules/judge.h"

static void say_inherited(struct check *check, struct finding *finding, const struct model_use *use,
			  const struct moment *fork)
{
	const struct process *child = trace_process(check->trace, use->event->process);
	char name[64], outcome[128], id[32];

	judge_name(use->object, name, sizeof(name));
	finding_text(&finding->says,
		     "process %u (pid %d), forked from process %u at %s, called %s() on %s, which "
		     "process %u had made%s.",
		     use->event->process, child ? child->pid : 0, fork ? fork->process : 0,
		     fork ? event_id_text(fork->id, id) : "-", verb_infos[use->verb].name, name,
		     use->object->created.process, judge_outcome(use, outcome, sizeof(outcome)));
}

/* FORK-003 */
void fork_003(struct check *check, const struct model_use *use)
{
	const struct moment *fork;
	struct finding *finding;
	struct moment moment;

	if (!use->object->inherited)
		return;
	moment = judge_moment(use);
	finding = findings_add(check->findings, RULE_FORK_003,
			       findings_key(use->verb, moment.stack,
					    ((uint64_t)moment.process << 32) | use->object->kind));
	if (!finding)
		return;
	finding->event = moment.id;
	finding->time = moment.time;
	finding->process = moment.process;
	finding->thread = moment.id.thread;
	judge_where(finding, use);
	finding_text(&finding->object, "%s", use->object->name);
	fork = model_fork(check->model, moment.process);
	say_inherited(check, finding, use, fork);
	finding_step(finding, "created", &use->object->created);
	if (fork)
		finding_step(finding, "forked", fork);
	finding_step(finding, judge_deed(use), &moment);
}
