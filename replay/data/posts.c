/*
 * Replaying posts of work requests
 *
 * A recorded list is posted as a list, and a batch that was built with ibv_wr_*() is built again;
 * the result is compared with the recorded one. If the device refuses requests that the recorded
 * one accepted, its queue may be full (posts_wait.c).
 *
 * Not here: translating requests (posts_fill.c), builders (posts_build.c).
 */
#include "replay/data/posts.h"

#include <errno.h>
#include <stdlib.h>

#include "core/model/operation.h"
#include "core/wire/log.h"
#include "replay/data/contents.h"
#include "replay/state/cut.h"
#include "replay/report/differ.h"
#include "replay/cm/cm.h"
#include "replay/data/faults.h"
#include "replay/data/posting.h"
#include "replay/process/process.h"
#include "replay/state/recorded_fault.h"
#include "replay/state/sent.h"
#include "replay/state/translate.h"

/* The queue pair that datagram @i is sent to, if contents are compared. */
static struct replica_qp *find_target(struct post_in_progress *p, uint32_t i)
{
	struct replica *target;
	uint64_t id;

	if (!p->r->contents || !map_get(&p->r->numbers, p->wrs->send[i].wr.ud.remote_qpn, &id))
		return NULL;
	target = replica_of(p->r, (uint32_t)id);
	return target ? target->qp : NULL;
}

/*
 * The list of messages in the order in which the peer, or the target of datagrams, will receive
 * them; or NULL.
 */
static struct requests *find_sent(struct post_in_progress *p, uint32_t i)
{
	struct replica_qp *qp = p->replica->qp;

	if (p->side != SIDE_SEND || !operation_takes_receive(p->post->wr[i].opcode))
		return NULL;
	if (qp->type == IBV_QPT_UD)
		qp = find_target(p, i);
	else if (qp->type != IBV_QPT_RC && qp->type != IBV_QPT_UC)
		qp = NULL;
	return qp ? &qp->sent : NULL;
}

/* Note the messages before the post, because they may be received before it returns. */
static int note_sent(struct post_in_progress *p)
{
	if (p->replica->qp && requests_count(&p->replica->qp->sent) >= SENT_MOST)
		sent_remove_counted_of(p->r, p->replica->qp);
	for (uint32_t i = 0; i < p->post->nwr; i++) {
		struct requests *sent = find_sent(p, i);
		struct request *request = sent ? requests_add(sent) : NULL;

		if (sent && !request)
			return -ENOMEM;
		if (request)
			*request = (struct request){ .event = p->event->id,
						     .index = i,
						     .length = posts_length(&p->post->wr[i]),
						     .wr_id = p->replica->number };
	}
	return 0;
}

static void forget_sent(struct post_in_progress *p, uint32_t taken)
{
	for (uint32_t i = p->post->nwr; i-- > taken;) {
		struct requests *sent = find_sent(p, i);

		if (sent)
			requests_undo(sent, 1);
	}
}

/* Post the list. Returns the verb's result; *@ret_taken: the number of accepted requests. */
static int post_list(struct post_in_progress *p, uint32_t *ret_taken)
{
	struct request_memory *wrs = p->wrs;
	struct ibv_send_wr *bad_send = NULL, *send = p->post->nwr ? wrs->send : NULL;
	struct ibv_recv_wr *bad_recv = NULL, *recv = p->post->nwr ? wrs->recv : NULL;
	int ret;

	if (p->built) {
		ret = posts_build(p);
		*ret_taken = ret ? 0 : p->post->nwr;
		return ret;
	}
	if (p->side == SIDE_SEND)
		ret = ibv_post_send(p->replica->handle, send, &bad_send);
	else if (p->post->verb == VERB_post_recv)
		ret = ibv_post_recv(p->replica->handle, recv, &bad_recv);
	else if (p->post->verb == VERB_post_wq_recv)
		ret = ibv_post_wq_recv(p->replica->handle, recv, &bad_recv);
	else
		ret = ibv_post_srq_recv(p->replica->handle, recv, &bad_recv);
	*ret_taken = p->post->nwr;
	if (ret && bad_send)
		*ret_taken = (uint32_t)(bad_send - wrs->send);
	if (ret && bad_recv)
		*ret_taken = (uint32_t)(bad_recv - wrs->recv);
	return ret;
}

/* The recorder refused the list from one request on: post the requests before that one. */
static bool refuse_from_failed(struct post_in_progress *p, int *ret_ret, uint32_t *ret_taken)
{
	uint32_t before = p->post->bad > 1 && !p->built ? p->post->bad - 1 : 0;
	int error = recorded_fault_repeat(p->r, p->event->id, p->post->verb, p->post->object);

	if (!error)
		return false;
	*ret_ret = 0;
	*ret_taken = before;
	if (before) {
		p->wrs->send[before - 1].next = NULL;
		p->wrs->recv[before - 1].next = NULL;
		*ret_ret = post_list(p, ret_taken);
	}
	if (!*ret_ret) {
		*ret_ret = error;
		*ret_taken = before;
	}
	return true;
}

/*
 * Post the list; if needed, wait for entries. *@ret_ret is the verb's result, which some devices
 * return negated, *@ret_taken the number of accepted requests. 0 or -ENOMEM.
 */
static int post_or_wait(struct post_in_progress *p, int *ret_ret, uint32_t *ret_taken)
{
	int ret = ENOMEM;
	int64_t taken = 0;

	*ret_taken = 0;
	if (!p->requests->held && refuse_from_failed(p, ret_ret, ret_taken))
		return 0;
	if (!p->requests->held) {
		if (p->replica->qp && recorded_fault_ended(p->r, p->event->id))
			cm_end_connection(p->r, p->post->object);
		faults_begin_post(p->r, p->event, p->replica,
				  requests_count(p->requests) - p->post->nwr);
		ret = post_list(p, ret_taken);
		faults_end_post(p->r, p->event);
	}
	*ret_ret = ret;
	if (ret != ENOMEM || p->post->ret)
		return 0;
	taken = posts_wait(p, *ret_taken);
	if (taken < 0)
		return -ENOMEM;
	*ret_taken = (uint32_t)taken;
	*ret_ret = taken == p->post->nwr ? 0 : ret;
	return 0;
}

/* Set the new keys of bound windows, if these still exist after a wait for free entries. */
static void note_binds(const struct post_in_progress *p, uint32_t taken)
{
	const struct ibv_send_wr *wr = p->wrs->send;

	for (uint32_t i = 0; p->side == SIDE_SEND && i < taken; i++)
		if (wr[i].opcode == IBV_WR_BIND_MW &&
		    translate_has_object(p->r, wr[i].bind_mw.mw, OBJECT_mw))
			wr[i].bind_mw.mw->rkey = wr[i].bind_mw.rkey;
}

/* Note that requests from @from on are not posted in the replay. */
static int note_skipped_from(struct post_in_progress *p, uint32_t from)
{
	return map_put(&p->r->left_out, event_key(p->event->id), from + 1);
}

static int compare_result(struct post_in_progress *p, int ret, uint32_t taken)
{
	const struct post *post = p->post;

	differ_check_ret(p->r->outcome, p->event->id, post->verb, post->object, post->ret, ret);
	if (ret && ret == post->ret && post->bad && post->bad != taken + 1)
		differ_check_numbers(p->r->outcome, p->event->id, post->verb, post->object,
				     "bad_wr", post->bad - 1, taken);
	if (!ret)
		return 0;
	requests_undo(p->requests, post->nwr - taken);
	return note_skipped_from(p, taken);
}

static int skip_post(struct post_in_progress *p, const char *why)
{
	outcome_note_skipped(p->r->outcome, p->event->id, p->post->verb,
			     p->lacking ? p->lacking : p->post->object, why);
	return note_skipped_from(p, 0);
}

/* Stop replaying a connection whose post lacks an object: its later events would differ, too. */
static void cut_incomplete(const struct post_in_progress *p)
{
	if (p->lacking && p->replica->qp && p->replica->qp->type != IBV_QPT_UD)
		cut_connection(p->r, p->post->object, p->lacking,
			       "a request of its queue pair uses an object that does not exist in "
			       "the replay");
}

static bool has_objects(const struct post_in_progress *p, const struct ibv_send_wr *wr)
{
	if (p->replica->qp->type == IBV_QPT_UD &&
	    !translate_has_object(p->r, wr->wr.ud.ah, OBJECT_ah))
		return false;
	return wr->opcode != IBV_WR_BIND_MW ||
	       translate_has_object(p->r, wr->bind_mw.mw, OBJECT_mw);
}

/*
 * Check again that the objects exist: the post may have waited for numbers of the other host, and
 * other threads may have destroyed objects meanwhile.
 */
static void check_filled(struct post_in_progress *p)
{
	if (!p->r->pair || p->missing)
		return;
	if (!p->replica->handle)
		p->missing = p->replica->why;
	for (uint32_t i = 0; p->side == SIDE_SEND && i < p->post->nwr && !p->missing; i++)
		if (!has_objects(p, &p->wrs->send[i]))
			p->missing = "a request uses an object that was destroyed before";
}

static int fill_and_post(struct post_in_progress *p)
{
	uint32_t taken;
	int ret, err;

	if (posts_reserve(p->wrs, p->post) || contents_begin(p->r, p->post))
		return -ENOMEM;
	err = posts_fill(p);
	if (err)
		return err;
	check_filled(p);
	if (p->missing) {
		if (p->post->verb != VERB_wr_abort)
			requests_undo(p->requests, p->post->nwr);
		cut_incomplete(p);
		return skip_post(p, p->missing);
	}
	outcome_count(p->r->outcome, OUTCOME_POSTS, 1);
	if (p->post->verb == VERB_wr_abort)
		return posts_build(p);
	outcome_count(p->r->outcome, OUTCOME_REQUESTS, p->post->nwr);
	if (note_sent(p) || post_or_wait(p, &ret, &taken))
		return -ENOMEM;
	forget_sent(p, taken);
	note_binds(p, taken);
	return compare_result(p, ret, taken);
}

static int replay_post(struct post_in_progress *p)
{
	struct replay *r = p->r;
	int err;

	p->requests = p->replica->qp ? &p->replica->qp->out[p->side] : p->replica->requests;
	p->wrs = r->wrs ? r->wrs : calloc(1, sizeof(*p->wrs));
	if (!p->wrs)
		return -ENOMEM;
	r->wrs = p->wrs->next; /* other threads may post while this one waits for free entries */
	err = fill_and_post(p);
	p->wrs->next = r->wrs;
	r->wrs = p->wrs;
	return err;
}

/* Is the region of a request missing? Later events of its queue pair would differ. */
static bool lacks_region(struct post_in_progress *p)
{
	struct translation t;

	if (!p->r->nlacking)
		return false;
	t = (struct translation){ .r = p->r, .event = p->event, .time = p->event->time };
	translate_check_post(&t, p->replica->qp);
	if (!t.missing)
		return false;
	cut_connection(p->r, p->post->object, t.missing_object,
		       "a request of its queue pair uses a region that does not exist in the "
		       "replay");
	__builtin_memcpy(p->text, t.text, sizeof(p->text));
	return true;
}

static enum object_kind queue_kind(enum verb verb)
{
	switch (verb) {
	case VERB_post_srq_recv:
		return OBJECT_srq;
	case VERB_post_wq_recv:
		return OBJECT_wq;
	default:
		return OBJECT_qp;
	}
}

/* Why the post is left out, or NULL. */
static const char *find_skip_reason(struct post_in_progress *p)
{
	const struct replica *replica = p->replica;

	if (!replica)
		return "its queue is not in the trace";
	if (!replica->handle)
		return replica->why ? replica->why : "its queue was not created in the replay";
	if (!process_has(p->event->process, replica->handle))
		return "its process in the replay does not have its queue";
	if (replica->qp && replica->qp->cut)
		return replica->qp->cut;
	p->built = posts_are_built(p);
	if (p->post->verb == VERB_wr_complete && p->post->ret && !p->post->nwr)
		return "its requests are not in the trace";
	if (p->post->verb == VERB_wr_complete && p->post->ret && !p->built)
		return "ibv_wr_complete() refused the whole batch, but ibv_post_send() may accept "
		       "a part";
	if (p->post->ret && translate_is_inherited(p->r, p->post->object, p->event->process))
		return translate_inherited;
	if (lacks_region(p))
		return p->text;
	return NULL;
}

/* Does a shared queue have spare requests, because messages did not come? */
static bool has_spare(const struct post_in_progress *p)
{
	return !p->replica->qp && p->post->nwr && p->replica->spare >= p->post->nwr &&
	       !p->post->ret;
}

static int skip_for_spare(struct post_in_progress *p)
{
	static const char spare[] = "its shared queue is full of requests for messages that did "
				    "not arrive";

	p->replica->spare -= p->post->nwr;
	outcome_note_skipped(p->r->outcome, p->event->id, p->post->verb, p->replica->spare_of,
			     spare);
	return note_skipped_from(p, 0);
}

int posts_replay(struct replay *r, const struct trace_event *event)
{
	struct post_in_progress p; /* its text is long */
	const char *why;
	char text[32];
	int err;

	if (event->inner)
		return 0;
	p.r = r;
	p.event = event;
	p.post = event->post;
	p.missing = NULL;
	p.lacking = 0;
	p.replica = replica_as(r, p.post->object, queue_kind(p.post->verb));
	p.side = post_is_send(p.post) ? SIDE_SEND : SIDE_RECV;
	why = find_skip_reason(&p);
	if (!why && p.post->verb == VERB_wr_abort && !p.built)
		return 0;
	err = why ? skip_post(&p, why) : has_spare(&p) ? skip_for_spare(&p) : replay_post(&p);
	return err < 0 ? log_err(err, "replay the post at %s", event_id_text(event->id, text)) : 0;
}

void posts_fini(struct replay *r)
{
	while (r->wrs) {
		struct request_memory *wrs = r->wrs;

		r->wrs = wrs->next;
		free(wrs->send);
		free(wrs->recv);
		free(wrs->sges);
		free(wrs->bufs);
		free(wrs);
	}
}
