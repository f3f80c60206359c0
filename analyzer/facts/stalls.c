/*
 * What each process waits for when it ends
 *
 *	queue pair	send outstanding for long --> its peer's acknowledgement, or receive
 *			receives outstanding, no progress for long --> a message of its peer
 *			receives of datagrams --> all queue pairs with which it has exchanged any
 *
 * A job that hangs is ended from outside, by its launcher or by hand: all processes end at about
 * the same time, and when a process ends its objects are still known.
 *
 * Not here: connections of librdmacm (stalls_cm.c), datagram partners (stalls_datagram.c); whether
 * a thread polls the CQ, which is known only at the end of the trace (stalls_finish.c); which
 * process is to blame (wait_graph.c); the sentences (analyzer/report/waits_text.c).
 */
#include "analyzer/facts/stalls_cm.h"
#include "analyzer/facts/stalls_datagram.h"
#include "analyzer/facts/stalls_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/last_verb.h"
#include "analyzer/model/model.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/cq_event.h"
#include "core/base/vec.h"
#include "core/store/read/joint.h"
#include "core/wire/log.h"

const char *const stall_states[STALL_STATES] = {
	[STALL_WELL] = "ended",
	[STALL_ENDED] = "killed",
	[STALL_STOPPED] = "stopped",
	[STALL_MISLED] = "misled",
	[STALL_HUNG] = "hung",
	[STALL_UNPOLLED] = "unpolled",
	[STALL_FULL] = "full",
	[STALL_IGNORES] = "ignores",
	[STALL_NOTHING_OUTSTANDING] = "barren",
	[STALL_QUIET] = "quiet",
	[STALL_BUSY] = "busy",
	[STALL_WAITS] = "waits",
	[STALL_UNKNOWN] = "unknown",
};

const char *const stall_whys[STALL_WHYS] = {
	[STALL_SEND] = "send",       [STALL_CREDIT] = "credit",     [STALL_RDMA] = "rdma",
	[STALL_MESSAGE] = "receive", [STALL_DATAGRAM] = "datagram", [STALL_CONNECT] = "connect",
	[STALL_ACCEPT] = "accept",   [STALL_REQUEST] = "request",   [STALL_EVENT] = "event",
};

int stalls_new(struct trace *trace, const struct activity *activity, struct stalls **ret_stalls)
{
	struct stalls *stalls = calloc(1, sizeof(*stalls));

	if (!stalls || !(stalls->work = calloc(1, sizeof(*stalls->work))) ||
	    !(stalls->work->cm = stalls_cm_new(trace)) ||
	    !(stalls->work->sets = thread_sets_new()) ||
	    !(stalls->work->datagrams = stalls_datagram_new())) {
		stalls_free(stalls);
		return log_err(-ENOMEM, "waits of processes");
	}
	stalls->work->trace = trace;
	stalls->work->activity = activity;
	*ret_stalls = stalls;
	return 0;
}

void stalls_free(struct stalls *stalls)
{
	if (!stalls)
		return;
	for (size_t i = 0; stalls->work && i < stalls->work->n; i++)
		activity_drop(&stalls->work->notes[i].threads);
	wait_graph_fini(&stalls->graph);
	if (stalls->work) {
		for (size_t i = 0; i < stalls->work->nparts; i++)
			activity_drop(&stalls->work->parts[i].note.threads);
		thread_sets_free(stalls->work->sets);
		free(stalls->work->parts);
		free(stalls->work->part_of);
		stalls_cm_free(stalls->work->cm);
		stalls_datagram_free(stalls->work->datagrams);
		free(stalls->work->notes);
	}
	free(stalls->work);
	free(stalls->all);
	free(stalls->links);
	free(stalls);
}

static struct stall_note *note_of(struct stalls *stalls, uint32_t process)
{
	struct stalls_work *work = stalls->work;

	return vec_at(work->notes, work->n, process);
}

void stalls_note_fork(struct stalls *stalls, const struct trace_event *event)
{
	struct stall_note *note = note_of(stalls, event->process);

	if (!note || event->fork->error)
		return;
	note->forked = (struct moment){ .id = event->id,
					.verb = VERB_COUNT,
					.process = event->process,
					.stack = event->fork->stack,
					.time = event->time };
	snprintf(note->how, sizeof(note->how), "%s", event->fork->how ?: "fork");
}

void stalls_note_call(struct stalls *stalls, const struct trace_event *event)
{
	stalls_cm_note_call(stalls->work->cm, event);
}

void stalls_note_post(struct stalls *stalls, struct model *model, const struct trace_event *event)
{
	thread_sets_note_post(stalls->work->sets, event);
	if (post_is_send(event->post))
		stalls_datagram_note_post(stalls->work->datagrams, model, event);
}

void stalls_note_poll(struct stalls *stalls, const struct trace_event *event)
{
	thread_sets_note_poll(stalls->work->sets, event);
}

void stalls_note_return(struct stalls *stalls, const struct trace_event *event)
{
	struct stall_note *note;

	stalls_cm_note_return(stalls->work->cm, event);
	note = event->call->failed ? note_of(stalls, event->process) : NULL;

	if (!note)
		return;
	note->failed = event->id;
	note->error = event->call->error;
}

/* One process at its end */

struct stall_builder {
	struct stalls *stalls;
	struct model *model;
	struct stall *stall;
	struct stall_note *note;
	int64_t posted; /* the last post */
	bool failed;
};

/* The other end of a queue pair. */
struct far_end {
	const struct peer *peer;   /* NULL: not known */
	const struct peer *misled; /* the peer's own peer, if it is another queue pair; else NULL */
};

static struct far_end find_far_end(struct model *model, const struct life *qp)
{
	struct peers *peers = model_peers(model);
	struct far_end far = { 0 };
	struct peer *given;

	if (!qp->peer || !qp->peer->connected)
		return far;
	far.peer = peer_find_other(peers, qp->peer);
	if (far.peer || !(given = peer_find_given(peers, qp->peer)))
		return far;
	far.peer = given;
	if (given->connected && given->dest != qp->peer->number)
		far.misled = peer_find_other(peers, given);
	return far;
}

enum { ABOUT_NOTHING, ABOUT_UNPOLLED, ABOUT_FULL, ABOUT_MISLED };

static int severity_of_note(const struct stall_note *note)
{
	return note->misled     ? ABOUT_MISLED
	       : note->full     ? ABOUT_FULL
	       : note->unpolled ? ABOUT_UNPOLLED
				: ABOUT_NOTHING;
}

/*
 * Note state @what of a process: only the worst state is reported; of equally bad states, the
 * first.
 */
static bool note_if_worse(struct stall_builder *taking, int what, const struct life *life,
			  uint64_t count)
{
	if (severity_of_note(taking->note) >= what)
		return false;
	snprintf(taking->stall->object, LIFE_NAME, "%s", life->name);
	taking->stall->count = count;
	return true;
}

static void note_misconnected(struct stall_builder *taking, const struct life *qp,
			      const struct far_end *far)
{
	struct stall *stall = taking->stall;
	const struct peers *peers = model_peers(taking->model);
	const struct peer *meant = peer_find_claimant(peers, qp->peer);
	const struct object *object;

	if (!note_if_worse(taking, ABOUT_MISLED, qp, 0))
		return;
	taking->note->misled = true;
	stall->qp = qp->id;
	stall->other = far->peer->process;
	stall->others = meant ? meant->process : 0;
	object = trace_object(taking->stalls->work->trace, far->peer->id);
	snprintf(stall->other_qp, LIFE_NAME, "%s", object && object->name ? object->name : "");
}

static void note_unpolled(struct stall_builder *taking, const struct life *qp,
			  const struct life *cq, uint64_t count, int64_t since)
{
	if (!cq || !note_if_worse(taking, ABOUT_UNPOLLED, cq, count))
		return;
	taking->note->unpolled = true;
	taking->note->unpolled_cq = cq->id;
	taking->stall->qp = qp->id;
	taking->stall->since = since;
}

static void note_full(struct stall_builder *taking, const struct life *qp,
		      const struct queue *sends)
{
	if (!note_if_worse(taking, ABOUT_FULL, qp, sends->outstanding))
		return;
	taking->note->full = true;
	taking->stall->qp = qp->id;
	taking->stall->since = sends->stats.last_time;
}

static const struct life *find_cq(const struct stall_builder *taking, const struct life *qp,
				  bool send)
{
	const struct life *cq = model_life(taking->model, qp->process, OBJECT_cq,
					   send ? qp->qp->send_cq : qp->qp->recv_cq);

	return cq && cq->state == LIFE_LIVE && !cq->inherited ? cq : NULL;
}

static uint64_t channel_of(const struct life *cq)
{
	const struct life_link *link = cq->parents;

	while (link && link->parent->kind != OBJECT_comp_channel)
		link = link->next_parent;
	return link ? link->parent->handle : 0;
}

/* The receives of a UD queue pair wait for all its partners (stalls_datagram.h). */
struct datagram_links {
	struct stall_builder *taking;
	const struct life *qp;
	const struct life *cq;
	bool any;
};

static void fill_link(struct stall_link *link, struct stall_builder *taking, const struct life *qp,
		      const struct queue *queue, const struct life *cq)
{
	*link = (struct stall_link){ .process = qp->process,
				     .qp = qp->id,
				     .cq = cq->id,
				     .why = STALL_MESSAGE,
				     .stack = queue->stats.last_stack,
				     .since = taking->stall->quiet,
				     .until = taking->stall->time,
				     .outstanding = queue->outstanding,
				     .received = queue->completed,
				     .armed = cq->wake && cq->wake->is_armed,
				     .channel = channel_of(cq) };
	if (!taking->note->cq[0])
		snprintf(taking->note->cq, LIFE_NAME, "%s", cq->name);
}

static void add_datagram_link(void *arg, const struct stall_datagram *datagram)
{
	struct datagram_links *datagrams = arg;
	struct stalls *stalls = datagrams->taking->stalls;
	struct stall_link *link;

	if (datagram->process == datagrams->qp->process)
		return;
	link = vec_push(stalls->links, stalls->nlinks);
	if (!link) {
		datagrams->taking->failed = true;
		return;
	}
	fill_link(link, datagrams->taking, datagrams->qp, datagrams->qp->rq, datagrams->cq);
	link->to = datagram->process;
	link->other = datagram->qp;
	link->why = STALL_DATAGRAM;
	link->received = datagram->received;
	datagrams->any = true;
}

/* Add a link: an identifier of librdmacm waits for its peer. */
static void add_cm_link(void *arg, const struct stall_link *link)
{
	struct stall_builder *taking = arg;
	struct stall_link *place = vec_push(taking->stalls->links, taking->stalls->nlinks);

	if (place)
		*place = *link;
	taking->failed |= !place;
	taking->stall->listens |= link->why == STALL_REQUEST;
}

static void add_datagram_links(struct stall_builder *taking, const struct life *qp)
{
	struct datagram_links datagrams = { taking, qp, find_cq(taking, qp, false), false };

	if (datagrams.cq)
		stalls_datagram_visit(taking->stalls->work->datagrams, qp->id, add_datagram_link,
				      &datagrams);
	taking->note->unknown |= !datagrams.any;
}

/* Do only other threads of the process use the queue pair? */
static bool is_qp_of_others(const struct stall_builder *taking, uint32_t qp)
{
	uint32_t set = thread_sets_of_object(taking->stalls->work->sets, qp);

	return taking->stall->set && set && set != taking->stall->set;
}

/* Add a link: the queue waits for its peer. @oldest: of a send queue; NULL: it has receives. */
static void add_link(struct stall_builder *taking, const struct life *qp, const struct queue *queue,
		     const struct queue_request *oldest)
{
	struct far_end far = find_far_end(taking->model, qp);
	const struct life *cq = find_cq(taking, qp, oldest);
	struct stalls *stalls = taking->stalls;
	struct stall_link *link;

	if (!far.peer || !cq ||
	    (far.peer->process == qp->process && !is_qp_of_others(taking, far.peer->id))) {
		taking->note->unknown = true;
		return;
	}
	if (far.misled)
		note_misconnected(taking, qp, &far);
	link = vec_push(stalls->links, stalls->nlinks);
	if (!link) {
		taking->failed = true;
		return;
	}
	fill_link(link, taking, qp, queue, cq);
	link->to = far.peer->process;
	link->other = far.peer->id;
	if (oldest) {
		struct peer_work work = queues_work_of(far.peer);
		bool message = queue_takes_receive(oldest->opcode);

		link->request = queue_id(oldest);
		link->opcode = oldest->opcode;
		link->stack = oldest->stack;
		link->since = oldest->time;
		link->why = !message                   ? STALL_RDMA
			    : work.known && !work.room ? STALL_CREDIT
						       : STALL_SEND;
	}
}

static const struct queue_request *find_signalled(const struct queue *queue)
{
	for (uint32_t i = 0; i < queue->count; i++)
		if (!queue_at(queue, i)->done && queue_at(queue, i)->signalled)
			return queue_at(queue, i);
	return NULL;
}

/* Has the peer received the message? Messages are received in the order of the posts. */
static bool has_arrived(struct stall_builder *taking, const struct life *qp,
			const struct queue_request *oldest)
{
	struct far_end far = find_far_end(taking->model, qp);
	struct peer_work work = queues_work_of(far.peer);

	return work.known && !far.misled && oldest->message && work.received >= oldest->message &&
	       !work.interrupted;
}

static bool is_full(const struct queue *queue)
{
	uint32_t limit = queue->limits.given ?: queue->limits.asked;

	return (queue->refusal && queue->refusal->open && queue->refusal->full) ||
	       (limit && queue->outstanding >= limit);
}

static void examine_sends(struct stall_builder *taking, const struct life *qp)
{
	const struct queue *queue = qp->sq;
	const struct queue_request *oldest = find_signalled(queue);

	if (!oldest && is_full(queue))
		note_full(taking, qp, queue);
	if (!oldest || taking->stall->time - oldest->time < stall_patience(taking->stall))
		return;
	if (has_arrived(taking, qp, oldest))
		note_unpolled(taking, qp, find_cq(taking, qp, true), 1, oldest->time);
	else
		add_link(taking, qp, queue, oldest);
}

static void examine_receives(struct stall_builder *taking, const struct life *qp)
{
	int64_t time = taking->stall->time;

	if (!qp->unwatched && qp->arrived > qp->taken) {
		if (time - qp->arrival >= stall_patience(taking->stall))
			note_unpolled(taking, qp, find_cq(taking, qp, false),
				      qp->arrived - qp->taken, qp->arrival);
		return;
	}
	if (time - taking->stall->quiet < stall_patience(taking->stall))
		return;
	if (qp->qp->type == ABI_QPT_UD)
		add_datagram_links(taking, qp);
	else
		add_link(taking, qp, qp->rq, NULL);
}

static bool is_certain(const struct queue *queue)
{
	return queue && queue->outstanding && !queue->doubt;
}

static void examine_qp(struct stall_builder *taking, const struct life *qp)
{
	int state = qp_state(qp);

	if (state == ABI_QPS_RESET || state == ABI_QPS_INIT || state == ABI_QPS_ERR)
		return;
	taking->note->unknown |= (qp->sq && qp->sq->doubt) || (qp->rq && qp->rq->doubt);
	if (is_certain(qp->sq))
		examine_sends(taking, qp);
	if (is_certain(qp->rq))
		examine_receives(taking, qp);
	for (int send = 0; send < 2; send++) {
		const struct queue *queue = send ? qp->sq : qp->rq;

		if (queue && queue->stats.last_time > taking->posted) {
			taking->posted = queue->stats.last_time;
			if (!taking->stall->last.stack)
				taking->stall->stack = queue->stats.last_stack;
		}
	}
}

/* Set the last verb of the process; @quiet: the time of its last progress. */
static void fill_last_verb(struct stall_builder *taking, const struct last_verb *last,
			   int64_t quiet)
{
	const struct stall_note *note = taking->note;
	struct stall *stall = taking->stall;

	stall->quiet = quiet;
	stall->last = last_verb_moment(last);
	stall->stack = last->stack;
	stall->error = 0;
	stall->forked.id.thread = 0;
	if (last->at.id.thread == note->failed.thread && last->at.id.n == note->failed.n)
		stall->error = note->error;
	if (note->forked.id.thread && note->forked.time >= last->returned &&
	    (!stall->set || note->forked.id.thread == last->at.id.thread)) {
		stall->forked = note->forked;
		snprintf(stall->how, sizeof(stall->how), "%s", note->how);
	}
}

static void examine_qps(struct stall_builder *taking)
{
	const struct life *life = NULL;
	uint32_t process = taking->stall->process;

	while ((life = model_next_life(taking->model, process, life)))
		if (life->kind == OBJECT_qp && life->state == LIFE_LIVE && !life->inherited &&
		    life->qp && !is_qp_of_others(taking, life->id))
			examine_qp(taking, life);
}

/* Sets of threads */

static void count_cm_link(void *arg, const struct stall_link *link)
{
	(void)link;
	++*(size_t *)arg;
}

/* Does the process wait for a connection? Then it waits as a whole. */
static bool is_connecting(struct stall_builder *taking)
{
	size_t n = 0;

	return stalls_cm_end_process(taking->stalls->work->cm, taking->model,
				     &taking->note->threads, taking->stall, count_cm_link, &n) ||
	       n;
}

static bool is_of_other_set(void *arg, uint32_t thread)
{
	const struct stall_builder *taking = arg;

	return thread_sets_of_thread(taking->stalls->work->sets, thread) != taking->stall->set;
}

static void examine_set(struct stall_builder *taking, uint32_t set)
{
	const struct last_verb *last;
	int64_t progress;

	taking->stall->set = set;
	taking->posted = 0;
	taking->stall->first = taking->stalls->nlinks;
	last = thread_sets_last(taking->stalls->work->sets, taking->model, set, &progress);
	if (last)
		fill_last_verb(taking, last, progress);
	activity_store_sleep(taking->stalls->work->activity, taking->model, taking->stall->process,
			     taking->stall->time, &taking->note->threads);
	activity_forget_sleeps(&taking->note->threads, is_of_other_set, taking);
	examine_qps(taking);
	taking->stall->n = taking->stalls->nlinks - taking->stall->first;
}

/* Add a further set of threads: a copy of @process, except for what its threads have done. */
static void add_part(struct stall_builder *taking, const struct stall *process,
		     const struct stall_note *note, uint32_t set)
{
	struct stalls_work *work = taking->stalls->work;
	uint32_t *of = vec_at(work->part_of, work->npart_of, set);
	struct stall_part *part = of ? vec_push(work->parts, work->nparts) : NULL;

	if (!part) {
		taking->failed = true;
		return;
	}
	*of = (uint32_t)work->nparts;
	part->stall = *process;
	part->note = *note;
	taking->stall = &part->stall;
	taking->note = &part->note;
	examine_set(taking, set);
}

static void examine_sets(struct stall_builder *taking, const uint32_t *sets, size_t n)
{
	const struct stall process = *taking->stall;
	struct stall_note note = *taking->note;

	note.threads = (struct activity_note){ 0 };
	examine_set(taking, sets[0]);
	for (size_t i = 1; i < n; i++)
		add_part(taking, &process, &note, sets[i]);
}

static void examine_process(struct stall_builder *taking)
{
	examine_qps(taking);
	taking->note->unknown |=
		stalls_cm_end_process(taking->stalls->work->cm, taking->model,
				      &taking->note->threads, taking->stall, add_cm_link, taking);
	taking->stall->n = taking->stalls->nlinks - taking->stall->first;
}

void stalls_end_process(struct stalls *stalls, struct model *model, const struct model_exit *end)
{
	const struct last_verb *last = last_verb_of_process(model, end->process);
	struct stall_builder taking = { .stalls = stalls, .model = model };
	uint32_t sets[THREAD_SETS];
	size_t n;

	if (!last || (end->process < stalls->n && stalls->all[end->process].process))
		return;
	taking.note = note_of(stalls, end->process);
	taking.stall = vec_at(stalls->all, stalls->n, end->process);
	if (!taking.stall || !taking.note) {
		stalls->err = true;
		return;
	}
	taking.stall->process = end->process;
	taking.stall->first = stalls->nlinks;
	stall_fill_end(taking.stall, stalls->work->trace, end->time);
	fill_last_verb(&taking, last, last_verb_progress(model, last->process));
	if (taking.stall->well)
		return;
	activity_store_sleep(stalls->work->activity, model, end->process, taking.stall->time,
			     &taking.note->threads);
	n = thread_sets_find(stalls->work->sets, model, end->process, &taking.note->threads, sets);
	if (n > 1 && !is_connecting(&taking))
		examine_sets(&taking, sets, n);
	else
		examine_process(&taking);
	stalls->err |= taking.failed;
}
