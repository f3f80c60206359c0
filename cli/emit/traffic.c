/*
 * Posts, polls and armings as statements
 *
 * Completions are expected by queue pair and side: which of two queue pairs completes first is the
 * device's choice.
 */
#include "cli/emit/traffic.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "cli/emit/calls.h"
#include "cli/emit/names.h"
#include "cli/emit/request_field.h"
#include "cli/emit/request.h"
#include "cli/emit/result.h"
#include "core/base/vec.h"
#include "core/model/operation.h"
#include "core/wire/log.h"

/* Refuse a queue whose creation is not in the trace: the program cannot create it. */
static int check_object(struct maker *maker, uint32_t object, const char *what)
{
	const struct object *o = object ? trace_object(maker->program->trace, object) : NULL;

	if (!o)
		return program_refuse(maker->program, "its %s is not known", what);
	if (!o->created.thread)
		return program_refuse(maker->program, "%s existed before the recording", o->name);
	if (!maker->program->objects[object].made)
		return program_refuse(maker->program,
				      "the verb that created %s is not in the "
				      "trace",
				      o->name);
	return 0;
}

/* Does the message take a receive request at the other end? */
static bool takes_receive(const struct wr *wr, int status)
{
	return operation_takes_receive(wr->opcode) && status != IBV_WC_RNR_RETRY_EXC_ERR &&
	       status != IBV_WC_RETRY_EXC_ERR && status != IBV_WC_WR_FLUSH_ERR &&
	       status != IBV_WC_LOC_PROT_ERR && status != IBV_WC_LOC_LEN_ERR &&
	       status != IBV_WC_LOC_QP_OP_ERR;
}

/* The queue that receives a request's message: of a queue pair, or its SRQ. 0: not known. */
static uint32_t find_queue(struct maker *maker, uint32_t qp, const struct wr *wr)
{
	uint32_t srq, to = maker->order.peer[qp];

	if (wr->remote_srqn && (srq = links_find_srq(&maker->links, (uint32_t)wr->remote_srqn)))
		return srq;
	if (wr->ah)
		to = field_find_target(maker, qp, wr);
	if (!to)
		return 0;
	srq = maker->order.srq[to];
	return srq ? srq : to;
}

static void note_destination(uint32_t *goes_to, uint32_t to)
{
	*goes_to = !*goes_to || *goes_to == to ? to : ORDER_SEVERAL;
}

/* The queue pair whose messages reach that of @wc in the order of their posts; or 0. */
static uint32_t find_sender(struct maker *maker, const struct wc *wc)
{
	uint32_t from;

	if (maker->order.type[wc->qp] != IBV_QPT_UD)
		return maker->order.peer[wc->qp];
	from = links_find_sender(&maker->links, wc, maker->program->time);
	return maker->order.goes_to[from] == wc->qp ? from : 0;
}

/* Wait for a receiver that was not yet connected: the recorded program relied on retries. */
static int order_connection(struct maker *maker, uint32_t to)
{
	struct event_id id = links_next_connection(&maker->links, to, maker->program->time);
	char name[2 * NAME_TEXT];

	if (!id.thread)
		return 0;
	names_variable(maker->program, to, name);
	names_strip(name);
	strcat(name, "_rtr");
	return order_await(&maker->order, id, name);
}

/* Order the message of a request after the events at the other end that it needs. */
static int order_message(struct maker *maker, uint32_t qp, const struct wr *wr, int status)
{
	uint32_t queue = find_queue(maker, qp, wr), to = maker->order.peer[qp];
	int err;

	if (wr->ah)
		to = field_find_target(maker, qp, wr);
	err = order_read(&maker->order, to, ROLE_STATE);
	if (!err && to && operation_is_answered(status) && maker->order.type[qp] != IBV_QPT_UC)
		err = order_connection(maker, to);
	if (!err && wr->remote_srqn) /* the number of the remote SRQ must be known */
		err = order_read(&maker->order,
				 links_find_srq(&maker->links, (uint32_t)wr->remote_srqn),
				 ROLE_MADE);
	if (!err && queue && takes_receive(wr, status))
		err = order_take_receive(&maker->order, queue);
	if (!err && to && maker->order.recv_cq[to])
		err = order_read(&maker->order, maker->order.recv_cq[to], ROLE_ARMED);
	if (wr->ah)
		note_destination(&maker->order.goes_to[qp], to);
	if (!err && wr->ah && queue && takes_receive(wr, status))
		err = order_change(&maker->order, to, ROLE_DATAGRAMS);
	if (!err && takes_receive(wr, status) && !status) {
		maker->sent[qp]++;
		err = order_send(&maker->order, qp);
	}
	return err;
}

/* A region or window that a request names is in use until a completion shows that it is done. */
static int name_object(struct maker *maker, uint32_t qp, uint32_t object)
{
	struct used_memory *named = &maker->named[qp];
	uint32_t *place;

	for (size_t i = 0; i < named->n; i++)
		if (named->objects[i] == object)
			return 0;
	place = vec_push(named->objects, named->n);
	if (!place)
		return log_err(-ENOMEM, "emit");
	*place = object;
	return 0;
}

/* The keys of a request that succeeded were valid at least until it was posted. */
static int order_keys(struct maker *maker, uint32_t qp, const struct wr *wr, int status)
{
	uint32_t objects[REQUEST_OBJECTS];
	size_t n = request_objects(maker, qp, wr, objects);
	int err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		err = order_read(&maker->order, objects[i], ROLE_STATE);
		if (!err && !status)
			err = order_note_use(&maker->order, objects[i], ROLE_STATE);
		if (!err)
			err = name_object(maker, qp, objects[i]);
	}
	return err;
}

static bool changes_window(int opcode)
{
	return opcode == IBV_WR_BIND_MW || opcode == IBV_WR_LOCAL_INV;
}

/* A window of type 2 is changed by requests, and used only by the peer of its queue pair. */
static int order_windows(struct maker *maker, uint32_t qp, const struct wr *wr)
{
	if (changes_window((int)wr->opcode))
		return order_change(&maker->order, qp, ROLE_WINDOWS);
	if (!operation_has_rkey((int)wr->opcode))
		return 0;
	return order_read(&maker->order, maker->order.peer[qp], ROLE_WINDOWS);
}

/* Does its completion have more than a length: immediate data, an invalidated key, a sender? */
static bool has_more(const struct wr *wr)
{
	return wr->ah || wr->opcode == IBV_WR_SEND_WITH_IMM ||
	       wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM || wr->opcode == IBV_WR_SEND_WITH_INV;
}

static int order_post(struct maker *maker, const struct post *post)
{
	struct program *program = maker->program;
	bool send = post_is_send(post);
	char name[NAME_TEXT];
	int err;

	names_variable(program, post->object, name);
	err = order_begin(&maker->order, name, send ? "sends" : "receives");
	if (!err)
		err = order_read(&maker->order, post->object, ROLE_STATE);
	if (!err)
		err = order_note_use(&maker->order, post->object, ROLE_STATE);
	if (!err)
		err = order_change(&maker->order, post->object, send ? ROLE_SENDS : ROLE_RECEIVES);
	if (!err && send) /* the completion makes an event, if the CQ was armed */
		err = order_read(&maker->order, maker->order.send_cq[post->object], ROLE_ARMED);
	if (!err)
		err = credits_take(&maker->credits, post->object, send, post_taken(post));
	for (uint32_t i = 0; !err && i < post->nwr; i++) {
		const struct wr *wr = &post->wr[i];
		int status = links_find_status(&maker->links, program->at, i);

		program->helpers |= has_more(wr) ? HELPER_MORE : 0;
		err = order_keys(maker, post->object, wr, status);
		if (!err && send && i < post_taken(post))
			err = order_windows(maker, post->object, wr)
				      ?: order_message(maker, post->object, wr, status);
	}
	if (!err && !send)
		err = order_post_receive(&maker->order, post->object, post_taken(post));
	return err;
}

int traffic_add_post(struct maker *maker, const struct post *post)
{
	int err = check_object(maker, post->object, "queue");

	if (!err && post->verb == VERB_post_wq_recv)
		err = program_refuse(maker->program, "ibv_post_wq_recv is not supported in a "
						     "program");
	if (!err)
		err = order_post(maker, post);
	if (!err)
		err = request_add_post(maker, post);
	if (!err)
		err = program_add(maker->program, true);
	return err ? err : order_end(&maker->order);
}

/* Does the device choose which queue pair's message comes next? */
static bool has_any_sender(const struct maker *maker, const struct wc *wc)
{
	return wc->qp && !wc->status && wc->opcode & IBV_WC_RECV &&
	       maker->program->objects[maker->order.srq[wc->qp]].starved;
}

/* Is the completed request a receive? A completion in error does not have that information. */
static bool is_receive(struct maker *maker, const struct wc *wc)
{
	if (!wc->status)
		return wc->opcode & IBV_WC_RECV;
	return wc->request.thread && request_is_receive(maker, wc->request);
}

/* A completion frees an entry of the queue for another request. */
static int free_queue_slot(struct maker *maker, const struct wc *wc)
{
	bool receive = is_receive(maker, wc);
	uint32_t srq = receive ? maker->order.srq[wc->qp] : 0;

	return credits_give_back(&maker->credits, srq ? srq : wc->qp, !receive, wc->request,
				 wc->request_index);
}

/* Until a request completed, its peer was there, and had the windows that it has now. */
static int order_done_request(struct maker *maker, const struct wc *wc, uint32_t peer)
{
	bool changes =
		!wc->status && (wc->opcode == IBV_WC_BIND_MW || wc->opcode == IBV_WC_LOCAL_INV);
	struct order *order = &maker->order;
	int err = changes ? order_change(order, wc->qp, ROLE_WINDOWS) : 0;

	if (err || !peer)
		return err;
	return order_note_use(order, peer, ROLE_WINDOWS) ?: order_note_use(order, peer, ROLE_STATE);
}

/* Order a completion after the events of other threads that it shows. */
static int order_completion(struct maker *maker, const struct wc *wc)
{
	struct order *order = &maker->order;
	uint32_t peer = wc->qp ? order->peer[wc->qp] : 0;
	struct used_memory *named = wc->qp ? &maker->named[wc->qp] : NULL;
	bool receive = wc->opcode & IBV_WC_RECV;
	int err;

	if (!wc->qp)
		return 0;
	err = free_queue_slot(maker, wc);
	if (!err)
		err = order_read(order, wc->qp, ROLE_STATE);
	if (!err)
		err = order_note_use(order, wc->qp, ROLE_STATE);
	if (err)
		return err;
	if (wc->status)
		return operation_is_answered((int)wc->status) && !is_receive(maker, wc)
			       ? order_done_request(maker, wc, peer)
			       : 0;
	if (receive) {
		if (has_any_sender(maker, wc))
			return 0;
		peer = find_sender(maker, wc);
		maker->received[peer]++;
		return peer ? order_receive(order, peer) : 0;
	}
	for (size_t i = 0; !err && i < named->n; i++)
		err = order_note_use(order, named->objects[i], ROLE_STATE);
	free(named->objects);
	*named = (struct used_memory){ 0 };
	return err ?: order_done_request(maker, wc, peer);
}

/* Add the fields of a receive, which those of an error and of a send lack. */
static void add_success(struct maker *maker, const struct wc *wc)
{
	struct phrase *phrase = &maker->program->phrase;
	uint32_t from;
	char name[NAME_TEXT];

	if (!(wc->opcode & IBV_WC_RECV))
		return; /* Soft-RoCE sets flags of sends, too */
	if (wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV))
		maker->program->helpers |= HELPER_MORE;
	phrase_addf(phrase, ", .byte_len = ");
	phrase_number(phrase, 'd', wc->byte_len);
	if (wc->wc_flags & IBV_WC_WITH_IMM) {
		phrase_addf(phrase, ",\n\t.wc_flags = IBV_WC_WITH_IMM, .imm_data = htobe32(");
		phrase_number(phrase, 'x', wc->imm);
		phrase_addf(phrase, ")");
	} else if (wc->wc_flags & IBV_WC_WITH_INV) {
		phrase_addf(phrase, ",\n\t.wc_flags = IBV_WC_WITH_INV");
	}
	if (maker->order.type[wc->qp] != IBV_QPT_UD)
		return;
	from = links_find_sender(&maker->links, wc, maker->program->time);
	if (!from)
		return;
	maker->program->objects[from].number = true;
	phrase_addf(phrase, ", .src_qp = %s_num", names_variable(maker->program, from, name));
}

/* Write the call that expects a completion, up to and including the argument for the CQ. */
static void begin_expect_call(struct maker *maker, const struct poll *poll, const struct wc *wc)
{
	struct program *program = maker->program;
	struct phrase *phrase = &program->phrase;
	bool ex = poll->verb != VERB_poll_cq;
	uint32_t srq =
		wc->qp && !wc->status && wc->opcode & IBV_WC_RECV ? maker->order.srq[wc->qp] : 0;
	const char *how = has_any_sender(maker, wc)              ? "ANY_WR_ID | ANY_SENDER"
			  : srq && maker->order.feeders[srq] > 1 ? "ANY_WR_ID"
								 : NULL;
	char name[NAME_TEXT];

	program->helpers |= HELPER_ASIDE | HELPER_EXPECT |
			    (ex    ? HELPER_EX
			     : how ? HELPER_HOW
				   : HELPER_PLAIN) |
			    (wc->qp ? 0 : HELPER_HOW);
	if (ex)
		phrase_addf(phrase, "expect_by(" SLOT "n, %s%sBY_EX, %s, ", how ?: "",
			    how ? " | " : "", names_variable(program, poll->object, name));
	else
		phrase_addf(phrase, how ? "expect_by(" SLOT "n, %s, " : "expect(" SLOT "n, ", how);
	if (!ex) {
		names_add_handle(program, &phrase->text, poll->object);
		phrase_addf(phrase, ", ");
	}
}

/*
 * Statuses that no request causes: of end-to-end contexts, which libibverbs does not have, and of
 * failures of a device.
 */
static bool is_unprovoked(uint32_t status)
{
	switch (status) {
	case IBV_WC_LOC_EEC_OP_ERR:
	case IBV_WC_LOC_RDD_VIOL_ERR:
	case IBV_WC_REM_INV_RD_REQ_ERR:
	case IBV_WC_REM_ABORT_ERR:
	case IBV_WC_INV_EECN_ERR:
	case IBV_WC_INV_EEC_STATE_ERR:
	case IBV_WC_FATAL_ERR:
	case IBV_WC_RESP_TIMEOUT_ERR:
	case IBV_WC_GENERAL_ERR:
		return true;
	default:
		return false;
	}
}

static int refuse_status(const struct program *program, const struct wc *wc)
{
	const char *name = enum_name(enum_find("ibv_wc_status"), wc->status);

	return program_refuse(program,
			      "a completion has %s, which no request causes: the device failed, or "
			      "the error was injected; --to ends the program before it",
			      name ? name : "an unknown status");
}

/* The last statement is completion @wc. */
static void mark_completion(const struct maker *maker, const struct wc *wc)
{
	struct script *script = &maker->program->scripts[maker->program->at.thread];
	struct statement *last = script->n ? &script->at[script->n - 1] : NULL;

	if (!last)
		return;
	last->completion = true;
	last->receive = wc->opcode & IBV_WC_RECV;
	last->failed = wc->status;
	last->qp = wc->qp;
}

/* Add the statement for completion @wc, @times in a row. */
static int add_completion(struct maker *maker, const struct poll *poll, const struct wc *wc,
			  uint32_t times)
{
	static const char receive[] = "IBV_WC_RECV";
	struct program *program = maker->program;
	struct phrase *phrase = &program->phrase;
	bool ex = poll->verb != VERB_poll_cq;
	char name[NAME_TEXT];
	int err;

	if (is_unprovoked(wc->status))
		return refuse_status(program, wc);
	begin_expect_call(maker, poll, wc);
	phrase_number(phrase, 'd', times);
	phrase_addf(phrase, ", &(struct ibv_wc){\n\t.wr_id = ");
	phrase_number(phrase, 'x', (int64_t)wc->wr_id);
	if (wc->status) {
		phrase_addf(phrase, ", .status = ");
		names_add_enum(&phrase->text, enum_find("ibv_wc_status"), wc->status);
	}
	phrase_addf(phrase, ", .opcode = ");
	if (wc->status)
		phrase_addf(phrase, "%s", is_receive(maker, wc) ? receive : "IBV_WC_SEND");
	else
		names_add_enum(&phrase->text, enum_find("ibv_wc_opcode"), wc->opcode);
	if (wc->qp && (!ex || wc->qp_num)) {
		program->objects[wc->qp].number = true;
		phrase_addf(phrase, ",\n\t.qp_num = %s_num", names_variable(program, wc->qp, name));
	}
	if (!wc->status && wc->qp && !has_any_sender(maker, wc))
		add_success(maker, wc);
	phrase_addf(phrase, " });");
	err = program_add(program, true);
	if (!err)
		mark_completion(maker, wc);
	return err;
}

/* How many completions from @i on are equal. */
static uint32_t count_equal_wcs(const struct poll *poll, uint32_t i)
{
	const struct wc *one = &poll->wc[i];
	uint32_t n = 1;

	for (; i + n < poll->nwc; n++) {
		const struct wc *other = &poll->wc[i + n];

		if (other->wr_id != one->wr_id || other->status != one->status ||
		    other->qp != one->qp || other->opcode != one->opcode ||
		    other->byte_len != one->byte_len || other->imm != one->imm ||
		    other->wc_flags != one->wc_flags || other->src_qp != one->src_qp)
			break;
	}
	return n;
}

uint32_t traffic_count_acknowledged(struct maker *maker, const struct poll *poll)
{
	uint32_t n = 0;

	for (; n < poll->nwc; n++) {
		const struct wc *wc = &poll->wc[n];
		bool message = wc->qp && !wc->status && wc->opcode & IBV_WC_RECV;
		uint32_t from = message ? find_sender(maker, wc) : 0;
		uint64_t before = 0;

		for (uint32_t i = 0; from && i < n; i++)
			before += poll->wc[i].opcode & IBV_WC_RECV && !poll->wc[i].status &&
				  find_sender(maker, &poll->wc[i]) == from;
		if (from && maker->received[from] + before >= maker->sent[from])
			break;
	}
	return n;
}

static const char destroyed[] =
	"a completion of a queue pair that was destroyed: a device may drop it";

static bool is_destroyed(const struct program *program, uint32_t qp)
{
	return qp && trace_object(program->trace, qp)->destroyed_at < program->time;
}

int traffic_add_poll(struct maker *maker, const struct poll *poll)
{
	struct program *program = maker->program;
	char name[NAME_TEXT];
	int err = check_object(maker, poll->object, "completion queue");

	if (err)
		return err;
	if (poll->ret < 0)
		return program_leave_out(program, "ibv_poll_cq",
					 "failed: a program cannot reproduce this");
	if (!poll->nwc)
		return 0;
	err = order_begin(&maker->order, names_variable(program, poll->object, name), "polls");
	if (!err)
		err = order_read(&maker->order, poll->object, ROLE_STATE);
	if (!err)
		err = order_note_use(&maker->order, poll->object, ROLE_STATE);
	if (!err) /* earlier events of the CQ that were not polled yet */
		err = order_read(&maker->order, poll->object, ROLE_ARMED);
	if (!err)
		err = order_change(&maker->order, poll->object, ROLE_POLLS);
	for (uint32_t i = 0; !err && i < poll->nwc;) {
		uint32_t same = count_equal_wcs(poll, i);

		if (is_destroyed(program, poll->wc[i].qp)) {
			err = program_leave_out(program, "ibv_poll_cq", destroyed);
			i += same;
			continue;
		}
		for (uint32_t j = 0; !err && j < same; j++)
			err = order_completion(maker, &poll->wc[i + j]);
		if (!err)
			err = add_completion(maker, poll, &poll->wc[i], same);
		i += same;
	}
	return err ? err : order_end(&maker->order);
}

static void add_arming(struct maker *maker, const struct notify *notify)
{
	struct program *program = maker->program;
	struct phrase *phrase = &program->phrase;
	const struct stored_object *kept = &program->objects[notify->object];
	bool arms = !notify->ret && kept->events;

	phrase_addf(phrase, !arms         ? "ibv_req_notify_cq("
			    : kept->by_ex ? "arm_by(" SLOT "n, BY_EX, "
					  : "arm(" SLOT "n, ");
	names_add_handle(program, &phrase->text, notify->object);
	phrase_addf(phrase, ", %d)", notify->solicited_only);
	if (!arms) {
		result_check(program, notify->ret);
		return;
	}
	phrase_addf(phrase, ";");
	program->helpers |= HELPER_SAME | HELPER_ASIDE | HELPER_ARM | (kept->by_ex ? HELPER_EX : 0);
	maker->armed[notify->object] = true;
}

int traffic_add_notify(struct maker *maker, const struct notify *notify)
{
	struct program *program = maker->program;
	char name[NAME_TEXT];
	int err = check_object(maker, notify->object, "completion queue");

	if (!err)
		err = order_begin(&maker->order, names_variable(program, notify->object, name),
				  "armed");
	if (!err)
		err = order_read(&maker->order, notify->object, ROLE_STATE);
	if (!err)
		err = order_change(&maker->order, notify->object, ROLE_ARMED);
	if (err)
		return err;
	add_arming(maker, notify);
	err = program_add(program, true);
	return err ? err : order_end(&maker->order);
}
