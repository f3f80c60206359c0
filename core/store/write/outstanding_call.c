/*
 * Control verbs that change what is outstanding: those that make, connect, reset and destroy
 * queues, bind windows, and fetch events of completion queues
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

static uint64_t arg_of(const struct args *args, const char *path, const char *path_ex)
{
	int64_t value = 0;

	if (!args_get(args, path, &value) && path_ex)
		args_get(args, path_ex, &value);
	return (uint64_t)value;
}

static int create_queue(struct outstanding *o, const struct outstanding_call *call)
{
	struct outstanding_qp qp;

	if (verb_infos[call->verb].object == OBJECT_srq)
		return outstanding_create_srq(o, call->process, call->handle,
					      arg_of(call->in, "srq_init_attr_ex.cq", NULL));
	qp = (struct outstanding_qp){
		.number = (uint32_t)arg_of(call->out, "ret.qp_num", NULL),
		.send_cq = arg_of(call->out, "ret.send_cq", NULL),
		.recv_cq = arg_of(call->out, "ret.recv_cq", NULL),
		.srq = arg_of(call->out, "ret.srq", NULL),
		.sq_sig_all =
			arg_of(call->in, "qp_init_attr.sq_sig_all", "qp_init_attr_ex.sq_sig_all"),
		.datagrams = arg_of(call->in, "qp_init_attr.qp_type", "qp_init_attr_ex.qp_type") ==
			     ABI_QPT_UD,
	};
	return outstanding_create_qp(o, call->process, call->handle, &qp, call->time);
}

static int modify_queue(struct outstanding *o, const struct outstanding_call *call)
{
	int64_t value;

	if (call->verb == VERB_bind_mw)
		return outstanding_bind(o, call->process, arg_of(call->in, "qp", NULL),
					arg_of(call->in, "mw_bind.wr_id", NULL),
					arg_of(call->in, "mw_bind.send_flags", NULL) &
						ABI_SEND_SIGNALED);
	if (args_get(call->in, "attr.qp_state", &value) && value == ABI_QPS_RESET)
		outstanding_reset_qp(o, call->process, call->handle, call->time);
	if (args_get(call->in, "attr.dest_qp_num", &value))
		return outstanding_connect_qp(o, call->process, call->handle, (uint32_t)value);
	return 0;
}

int outstanding_call(struct outstanding *o, const struct outstanding_call *call)
{
	if (call->verb == VERB_get_cq_event)
		outstanding_fetched(o, call->process, call->got, call->time);
	else if (is_queue(call->verb) && verb_infos[call->verb].effect == EFFECT_DESTROY)
		outstanding_destroy(o, call->process, call->handle);
	else if (outstanding_needs_args(call->verb))
		return verb_infos[call->verb].effect == EFFECT_CREATE ? create_queue(o, call)
								      : modify_queue(o, call);
	return 0;
}
