/*
 * STATE-001: calls that succeed and change nothing
 */
#include "analyzer/model/model.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"

static const struct change {
	enum verb verb;
	enum arg mask;
	const char *where, *first; /* a bit of the mask */
} changes[] = {
	{ VERB_modify_cq, ARG(attr.attr_mask), "attr->attr_mask", "IBV_CQ_ATTR_MODERATE" },
	{ VERB_modify_srq, ARG(srq_attr_mask), "srq_attr_mask", "IBV_SRQ_LIMIT" },
	{ VERB_modify_wq, ARG(attr.attr_mask), "wq_attr->attr_mask", "IBV_WQ_ATTR_STATE" },
};

void state_001_empty(struct check *check, const struct trace_event *returned)
{
	const struct call *call = returned->call;
	struct moment moment = moment_of(returned);
	const struct change *change = NULL;
	struct finding *finding;
	int64_t mask;

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		if (changes[i].verb == call->verb)
			change = &changes[i];
	if (!change || call->failed || !call->args || !args_get(call->args, change->mask, &mask) ||
	    mask)
		return;
	finding = check_add_hazard(check, RULE_STATE_001, &moment,
				   model_life(check->model, returned->process,
					      verb_infos[call->verb].object, call->handle),
				   change->where);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s() returned 0, but changed nothing: its mask is 0, without %s or another "
		     "bit.",
		     verb_infos[call->verb].name, change->first);
	finding_text(&finding->breaks, "the program relies on the values in the structure");
	finding->todo = "Set the bit of each attribute that the call is to change.";
	finding_step(finding, "called", &moment);
}
