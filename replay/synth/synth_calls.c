/*
 * Facts about the other ends that control verbs show: which queue pair was connected to which end,
 * and sequence numbers. Also the program's own regions
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "replay/synth/synth_priv.h"
#include "replay/state/recorded.h"

static uint32_t srq_of(const struct replay *r, const struct trace_event *event, uint64_t handle)
{
	const struct object *srq = handle ? trace_object_at(r->trace, event->process, OBJECT_srq,
							    handle, event->call->begin)
					  : NULL;

	return srq ? srq->id : 0;
}

static int add_plan(struct replay *r, const struct trace_event *event, const struct args *in,
		    const struct args *out)
{
	const struct call *call = event->call;
	bool ex = call->verb == VERB_create_qp_ex;
	struct synth_plan *plan;

	if (!replica_of(r, call->object) || r->far->plans[call->object])
		return 0;
	plan = calloc(1, sizeof(*plan));
	if (!plan)
		return -ENOMEM;
	plan->object = call->object;
	plan->process = trace_object(r->trace, call->object)->process;
	plan->type = (enum ibv_qp_type)args_number(in, ARG_EX(ex, qp_init_attr, qp_type));
	plan->depth = (uint32_t)args_number(out, ARG_EX(ex, qp_init_attr, cap.max_send_wr));
	plan->srq = srq_of(r, event, args_number(in, ARG_EX(ex, qp_init_attr, srq)));
	r->far->plans[call->object] = plan;
	return 0;
}

static int add_link(struct synth_plan *plan, const struct call *call, const struct args *in)
{
	struct synth_link *link;
	int64_t value;

	if (args_get(in, ARG(attr.qkey), &value))
		plan->qkey = (uint32_t)value;
	if (args_get(in, ARG(attr.qp_access_flags), &value))
		plan->access = (int)value;
	if (args_get(in, ARG(attr.dest_qp_num), &value)) {
		link = vec_push(plan->links, plan->nlinks);
		if (!link)
			return -ENOMEM;
		link->number = (uint32_t)value;
		link->av = recorded_address(in, true);
		link->time = call->begin;
	}
	if (plan->nlinks && args_get(in, ARG(attr.sq_psn), &value))
		plan->links[plan->nlinks - 1].sq_psn = (uint32_t)value;
	return 0;
}

static int note_handle(struct replay *r, const struct call *call, const struct args *in)
{
	struct ibv_ah_attr *av = vec_push(r->far->avs, r->far->navs);

	if (!av)
		return -ENOMEM;
	*av = recorded_address(in, false);
	return map_put(&r->far->av_of, call->object, r->far->navs);
}

static int note_exclusive(struct replay *r, const struct trace_event *event, const struct args *in)
{
	uint64_t handle = (uint64_t)args_number(in, ARG(srq_init_attr_ex.cq));
	const struct object *cq =
		trace_object_at(r->trace, event->process, OBJECT_cq, handle, event->call->begin);

	return cq && handle ? map_put(&r->far->exclusives, cq->id, event->call->object) : 0;
}

int synth_learn_call(struct replay *r, const struct trace_event *event, const struct args *in,
		     const struct args *out)
{
	const struct call *call = event->call;
	struct synth_plan *plan;

	if (event->inner || call->ours || call->depth || call->failed || call->end < 0)
		return 0;
	switch (recorded_verb(call)) {
	case VERB_create_qp:
	case VERB_create_qp_ex:
		return add_plan(r, event, in, out);
	case VERB_modify_qp:
		plan = call->object < r->nreplicas ? r->far->plans[call->object] : NULL;
		return plan ? add_link(plan, call, in) : 0;
	case VERB_create_ah:
		return note_handle(r, call, in);
	case VERB_create_srq_ex:
		return note_exclusive(r, event, in);
	case VERB_reg_mr:
	case VERB_reg_mr_iova:
	case VERB_reg_mr_iova2:
		return map_put(&r->far->access, call->object,
			       (uint64_t)args_number(in, ARG(access)));
	default:
		return 0;
	}
}
