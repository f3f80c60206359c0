/*
 * Effects of verbs on the queues of a matcher
 *
 * Control verbs create, reset and destroy queues, and their arguments have the sizes of queues;
 * ibv_bind_mw() adds a request.
 *
 * Not here: the queues, and completions (match.c).
 */
#include "core/store/chunk/abi.h"
#include "core/store/read/match.h"

static uint32_t object_arg(struct trace *trace, const struct trace_event *event,
			   const struct args *args, enum arg arg, enum object_kind kind)
{
	const struct object *o = NULL;
	int64_t handle;

	if (args_get(args, arg, &handle))
		o = trace_object_at(trace, event->process, kind, (uint64_t)handle, event->time);
	return o ? o->id : 0;
}

/*
 * The larger of the requested and the granted value; @list has the names that the argument may
 * have.
 */
static uint32_t read_capability(const struct args *in, const struct args *out, const enum arg *list)
{
	int64_t value, most = 0;

	for (; *list; list++) {
		if (args_get(in, *list, &value) && value > most)
			most = value;
		if (out && args_get(out, *list, &value) && value > most)
			most = value;
	}
	return most < UINT32_MAX / 4 ? (uint32_t)most : 0;
}

/* The value that the program requested. */
static uint32_t read_requested(const struct args *in, const enum arg *list)
{
	return read_capability(in, NULL, list);
}

/* Add a shared receive queue, or a work queue. */
static int add_receives(struct match *match, struct trace *trace, const struct trace_event *event,
			const struct args *in, const struct args *out)
{
	static const enum arg max[] = { ARG(srq_init_attr.attr.max_wr),
					ARG(srq_init_attr_ex.attr.max_wr), ARG(wq_init_attr.max_wr),
					ARG_NONE };
	uint32_t cq = object_arg(trace, event, in, ARG(srq_init_attr_ex.cq), OBJECT_cq);

	if (!cq)
		cq = object_arg(trace, event, in, ARG(wq_init_attr.cq), OBJECT_cq);
	return match_add_srq(match, event->call->object, read_capability(in, out, max),
			     read_requested(in, max), cq);
}

static int add_created(struct match *match, struct trace *trace, const struct trace_event *event,
		       const struct args *in, const struct args *out)
{
	static const enum arg send[] = { ARG(qp_init_attr.cap.max_send_wr),
					 ARG(qp_init_attr_ex.cap.max_send_wr), ARG_NONE };
	static const enum arg recv[] = { ARG(qp_init_attr.cap.max_recv_wr),
					 ARG(qp_init_attr_ex.cap.max_recv_wr), ARG_NONE };
	static const enum arg all[] = { ARG(qp_init_attr.sq_sig_all),
					ARG(qp_init_attr_ex.sq_sig_all), ARG_NONE };
	struct match_qp info;

	if (verb_infos[event->call->verb].object != OBJECT_qp)
		return add_receives(match, trace, event, in, out);
	info = (struct match_qp){
		.send_cq = object_arg(trace, event, out, ARG(ret.send_cq), OBJECT_cq),
		.recv_cq = object_arg(trace, event, out, ARG(ret.recv_cq), OBJECT_cq),
		.srq = object_arg(trace, event, out, ARG(ret.srq), OBJECT_srq),
		.max_send_wr = read_capability(in, out, send),
		.max_recv_wr = read_capability(in, out, recv),
		.asked_send_wr = read_requested(in, send),
		.asked_recv_wr = read_requested(in, recv),
		.sq_sig_all = read_capability(in, out, all),
	};
	return match_add_qp(match, event->call->object, &info);
}

/* ibv_bind_mw() posts to the send queue: ibv_bind_mw(3). */
static int add_bind(struct match *match, struct trace *trace, const struct trace_event *event,
		    const struct args *in)
{
	uint32_t qp = object_arg(trace, event, in, ARG(qp), OBJECT_qp);
	int64_t wr_id = 0, flags = 0;
	struct wr wr = { 0 };
	struct post post = { .verb = VERB_post_send, .nwr = 1, .wr = &wr };

	args_get(in, ARG(mw_bind.wr_id), &wr_id);
	args_get(in, ARG(mw_bind.send_flags), &flags);
	wr.wr_id = (uint64_t)wr_id;
	wr.send_flags = (uint32_t)flags;
	return match_note_post(match, qp, &post, event->id, event->time);
}

static int match_call(struct match *match, struct trace *trace, const struct trace_event *event)
{
	const struct call *call = event->call;
	const struct args *in = call->args, *out = call->out;
	bool reset = false;
	int64_t state, max_wr;
	int err = args_parse(in) ?: args_parse(out);

	if (err)
		return err;
	if (call->verb == VERB_bind_mw)
		err = add_bind(match, trace, event, in);
	else if (call->verb == VERB_modify_srq && args_get(in, ARG(srq_attr.max_wr), &max_wr))
		match_grow_srq(match, call->object, (uint32_t)max_wr);
	else if (call->verb == VERB_modify_wq)
		reset = args_get(in, ARG(wq_attr.wq_state), &state) && state == ABI_WQS_RESET;
	else if (call->verb == VERB_modify_qp)
		reset = args_get(in, ARG(attr.qp_state), &state) && state == ABI_QPS_RESET;
	else if (verb_infos[call->verb].effect == EFFECT_CREATE)
		err = add_created(match, trace, event, in, out);
	if (reset)
		match_reset(match, call->object);
	return err;
}

/* Is process @id alive, or a descendant of it that inherited its objects? */
static bool is_process_used(struct trace *trace, uint32_t id, int64_t time)
{
	const struct process *p;

	for (uint32_t last = id; (p = trace_process(trace, last)); last++) {
		const struct process *from = p;

		if (p->id && p->end >= 0 && p->end <= time)
			continue;
		while (from && from->id > id)
			from = from->parent < from->id ? trace_process(trace, from->parent) : NULL;
		if (from && from->id == id)
			return true;
	}
	return false;
}

/*
 * Process @id has ended: remove its objects, and those of its ancestors, unless a living process
 * still has them.
 */
static void forget_dead(struct match *match, struct trace *trace, uint32_t id, int64_t time)
{
	while (id && !is_process_used(trace, id, time)) {
		const struct process *p = trace_process(trace, id);

		match_end_process(match, id);
		id = p && p->parent < id ? p->parent : 0;
	}
}

int match_process_event(struct match *match, struct trace *trace, const struct trace_event *event)
{
	const struct verb_info *verb;
	const struct call *call;

	match_set_position(match, event->time, event->process);
	if (event->kind == TRACE_EXIT)
		forget_dead(match, trace, event->process, event->time);
	if (event->kind != TRACE_CALL && event->kind != TRACE_RETURN)
		return 0;
	call = event->call;
	if (call->failed || call->end < 0 || !call->object)
		return 0;
	verb = &verb_infos[call->verb];
	/* before it returns, another thread may poll its completion, or post */
	if (event->kind == TRACE_CALL)
		return call->verb == VERB_bind_mw || call->verb == VERB_modify_srq
			       ? match_call(match, trace, event)
			       : 0;
	if (verb->object != OBJECT_qp && verb->object != OBJECT_srq && verb->object != OBJECT_wq)
		return 0;
	if (verb->effect == EFFECT_DESTROY)
		match_remove(match, call->object);
	else if (verb->effect == EFFECT_CREATE || call->verb == VERB_modify_qp ||
		 call->verb == VERB_modify_wq)
		return match_call(match, trace, event);
	return 0;
}
