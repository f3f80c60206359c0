/*
 * Control verbs that affect outstanding requests: those that create, connect, reset and destroy
 * queues, bind windows, and get events of completion queues
 */
#include "core/store/chunk/abi.h"
#include "core/store/db/args.h"
#include "core/store/write/outstanding.h"

static bool is_queue(enum verb verb)
{
	return verb_infos[verb].object == OBJECT_qp || verb_infos[verb].object == OBJECT_srq;
}

bool outstanding_needs_args(enum verb verb)
{
	return (is_queue(verb) && verb_infos[verb].effect == EFFECT_CREATE) ||
	       verb == VERB_modify_qp || verb == VERB_bind_mw;
}

static uint64_t arg_of(const struct args *args, enum arg arg, enum arg arg_ex)
{
	int64_t value = 0;

	if (!args_get(args, arg, &value) && arg_ex)
		args_get(args, arg_ex, &value);
	return (uint64_t)value;
}

static int create_queue(struct outstanding *o, const struct outstanding_note_call *call)
{
	struct outstanding_qp qp;

	if (verb_infos[call->verb].object == OBJECT_srq)
		return outstanding_create_srq(o, call->process, call->handle,
					      arg_of(call->in, ARG(srq_init_attr_ex.cq), ARG_NONE));
	qp = (struct outstanding_qp){
		.number = (uint32_t)arg_of(call->out, ARG(ret.qp_num), ARG_NONE),
		.send_cq = arg_of(call->out, ARG(ret.send_cq), ARG_NONE),
		.recv_cq = arg_of(call->out, ARG(ret.recv_cq), ARG_NONE),
		.srq = arg_of(call->out, ARG(ret.srq), ARG_NONE),
		.sq_sig_all = arg_of(call->in, ARG(qp_init_attr.sq_sig_all),
				     ARG(qp_init_attr_ex.sq_sig_all)),
		.datagrams = arg_of(call->in, ARG(qp_init_attr.qp_type),
				    ARG(qp_init_attr_ex.qp_type)) == ABI_QPT_UD,
	};
	return outstanding_create_qp(o, call->process, call->handle, &qp, call->time);
}

static int modify_queue(struct outstanding *o, const struct outstanding_note_call *call)
{
	int64_t value;

	if (call->verb == VERB_bind_mw)
		return outstanding_note_bind(o, call->process, arg_of(call->in, ARG(qp), ARG_NONE),
					     arg_of(call->in, ARG(mw_bind.wr_id), ARG_NONE),
					     arg_of(call->in, ARG(mw_bind.send_flags), ARG_NONE) &
						     ABI_SEND_SIGNALED);
	if (args_get(call->in, ARG(attr.qp_state), &value) && value == ABI_QPS_RESET)
		outstanding_reset_qp(o, call->process, call->handle, call->time);
	if (args_get(call->in, ARG(attr.dest_qp_num), &value))
		return outstanding_connect_qp(o, call->process, call->handle, (uint32_t)value);
	return 0;
}

int outstanding_note_call(struct outstanding *o, const struct outstanding_note_call *call)
{
	if (call->verb == VERB_get_cq_event)
		outstanding_note_fetch(o, call->process, call->got, call->time);
	else if (is_queue(call->verb) && verb_infos[call->verb].effect == EFFECT_DESTROY)
		outstanding_destroy(o, call->process, call->handle);
	else if (verb_infos[call->verb].object == OBJECT_cq &&
		 verb_infos[call->verb].effect == EFFECT_DESTROY)
		outstanding_destroy_cq(o, call->process, call->handle);
	else if (outstanding_needs_args(call->verb))
		return verb_infos[call->verb].effect == EFFECT_CREATE ? create_queue(o, call)
								      : modify_queue(o, call);
	return 0;
}
