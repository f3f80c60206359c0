/*
 * What a process that was killed from outside, or gave up, had been waiting for
 *
 * A user who ends a program that hangs wants to know what it was waiting for: the oldest send that
 * has not completed; or, if there is none, the receives of a queue pair that got no message since
 * the program's last verb; and the state of the other end, which should have sent one.
 *
 * The state of the process itself is always reported: that a message has arrived at the other end
 * does not prove that its completion has come, so the receives are reported as well.
 *
 * Not here: what is known only at the end of the trace (waits_finish.c), the sentences about a wait
 * (waits_text.c), what the threads did meanwhile (activity.c).
 */
#include "analyzer/facts/waits_priv.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/steady.h"
#include "analyzer/model/last_verb.h"
#include "analyzer/model/model.h"
#include "analyzer/model/qp.h"
#include "core/base/vec.h"
#include "core/wire/log.h"

enum { SOON_NS = 10000000, RECEIVES = 16 };

int waits_new(struct trace *trace, struct fact_list *facts, const struct activity *activity,
	      struct waits **ret_waits)
{
	struct waits *waits = calloc(1, sizeof(*waits));

	if (!waits)
		return log_err(-ENOMEM, "the waits of killed processes");
	waits->trace = trace;
	waits->facts = facts;
	waits->activity = activity;
	*ret_waits = waits;
	return 0;
}

static void drop_wait_before(struct wait_before *before)
{
	activity_drop(&before->late.theirs);
	activity_drop(&before->mute.theirs);
	activity_drop(&before->note);
	*before = (struct wait_before){ 0 };
}

void waits_free(struct waits *waits)
{
	if (!waits)
		return;
	sent_fini(&waits->sent);
	for (size_t i = 0; i < waits->n; i++)
		activity_drop(&waits->all[i].theirs);
	for (size_t i = 0; i < waits->nthreads; i++)
		activity_drop(&waits->threads[i].note);
	for (size_t i = 0; i < waits->nbefore; i++)
		drop_wait_before(&waits->before[i]);
	for (size_t i = 0; i < waits->nwell; i++)
		drop_wait_before(&waits->well[i]);
	for (size_t i = 0; i < waits->ngiven_up; i++)
		activity_drop(&waits->given_up[i].late.theirs);
	free(waits->destroyed);
	free(waits->given_up);
	free(waits->well);
	free(waits->all);
	free(waits->threads);
	free(waits->before);
	free(waits);
}

void waits_note_post(struct waits *waits, struct model *model, const struct trace_event *event)
{
	sent_note_post(&waits->sent, model, event);
}

void waits_note_change(struct waits *waits)
{
	sent_forget_peers(&waits->sent);
}

/* Did a user or another program end the process? A process that crashed waited for nothing. */
static bool is_sent_from_outside(int signal)
{
	static const int signals[] = { 0, SIGTERM, SIGINT, SIGKILL, SIGHUP, SIGQUIT, SIGALRM };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (signals[i] == signal)
			return true;
	return false;
}

/* The requests that are outstanding. */
struct outstanding_requests {
	const struct queue *sends, *receives;
	const struct queue_request *oldest;
	const struct queue
		*all[RECEIVES]; /* receives of connected queue pairs, each on its own CQ */
	size_t nall;
	const struct queue *mute; /* no request is signalled: the queue that was last posted to */
};

/* Can a message arrive for its receives? Not before RTR. */
static bool may_receive_yet(const struct life *life)
{
	int state = life->kind == OBJECT_qp ? qp_state(life) : QP_UNKNOWN;

	return state != ABI_QPS_RESET && state != ABI_QPS_INIT;
}

/* May receives of an SRQ complete on the CQ? */
static bool has_srq(const struct life *cq)
{
	for (const struct life_link *link = cq ? cq->children : NULL; link; link = link->next_child)
		if (link->child->qp && link->child->qp->srq)
			return true;
	return false;
}

/* Is @queue a send queue on whose CQ no outstanding request of any queue can complete? */
static bool is_never_signalled(const struct queue *queue)
{
	const struct queue_cq *cq = queue->cq;

	return queue->send && queue->owner->kind == OBJECT_qp && !queue->all_signalled &&
	       qp_state(queue->owner) == ABI_QPS_RTS && cq && cq->owner && !cq->signalled &&
	       !cq->doubt && !cq->pools && !has_srq(cq->owner);
}

/* Receives with a completion in the CQ come first, then those whose peer is known. */
static int rank_receives(const struct queue *receives)
{
	const struct life *qp = queue_receiver(receives);

	if (qp && !qp->unwatched && qp->arrived > qp->taken)
		return 2;
	return receives->owner->kind == OBJECT_qp && receives->owner->peer;
}

static void note_receives(struct outstanding_requests *found, const struct queue *receives)
{
	if (!found->receives || rank_receives(receives) > rank_receives(found->receives))
		found->receives = receives;
	if (!rank_receives(receives) || found->nall == RECEIVES)
		return;
	for (size_t i = 0; i < found->nall; i++)
		if (found->all[i]->cq == receives->cq)
			return;
	found->all[found->nall++] = receives;
}

static bool note_oldest_request(void *arg, const struct queue *queue,
				const struct queue_request *request)
{
	struct outstanding_requests *found = arg;

	if (queue->doubt || !may_receive_yet(queue->owner))
		return false;
	if (!queue->send) {
		note_receives(found, queue);
	} else if (request->signalled && (!found->oldest || request->time < found->oldest->time)) {
		found->sends = queue;
		found->oldest = request;
	}
	if ((!found->mute || queue->stats.last_time > found->mute->stats.last_time) &&
	    is_never_signalled(queue))
		found->mute = queue;
	return false;
}

/*
 * The largest possible ordinal, from 1, of @request among all requests ever posted to @queue,
 * including those that a RESET removed.
 */
static uint64_t find_ordinal(const struct queue *queue, const struct queue_request *request)
{
	uint32_t behind = 0;

	while (behind < queue->count && queue_at(queue, queue->count - 1 - behind) != request)
		behind++;
	return queue->posted - behind;
}

/* Has the peer received the oldest send? Messages are received in the order of the posts. */
static bool has_arrived(struct model *model, const struct outstanding_requests *found)
{
	struct peer_work work =
		queues_work_of(peer_find_other(model_peers(model), found->sends->owner->peer));

	return work.known && queue_takes_receive(found->oldest->opcode) &&
	       work.received >= find_ordinal(found->sends, found->oldest);
}

/* Note the SRQ of @peer if it had fewer receives than messages were sent to its users. */
static void note_pool(struct wait *wait, struct model *model, const struct peer *peer)
{
	struct shared_receives shared =
		peer->life ? queues_shared_receives(model_peers(model), peer->life)
			   : peer->left_shared;

	if (shared.messages > shared.receives)
		wait->pool = shared;
}

/* Did the peer end the connection, and has this end not retrieved the event of that? */
static void note_hangup(struct wait *wait, const struct life *qp, const struct peer *peer)
{
	const struct life *own = life_cm_id(qp);
	const struct moment hangup = peer->life ? life_find_disconnect(peer->life) : peer->hangup;

	if (!own || own->ended || !hangup.id.thread || hangup.time > wait->end - PATIENCE_NS)
		return;
	wait->hangup = hangup;
	snprintf(wait->hung_id, sizeof(wait->hung_id), "%s", own->name);
}

static void note_peer(struct wait *wait, struct model *model, const struct life *qp)
{
	const struct peer *peer = peer_find_other(model_peers(model), qp->peer);

	if (!peer)
		return;
	wait->process = peer->process;
	wait->qp = peer->id;
	wait->gone = peer->gone;
	wait->work = queues_work_of(peer);
	note_hangup(wait, qp, peer);
	if (wait->oldest.thread && queue_takes_receive(wait->oldest.opcode))
		note_pool(wait, model, peer);
}

/* Since when no completion has come: counted from the time when one could have come. */
static int64_t find_silence_begin(const struct model *model, uint32_t process,
				  const struct queue *receives)
{
	int64_t polled = last_verb_process(model, process).polled;
	const struct queue_request *oldest = receives ? queue_oldest(receives) : NULL;
	const struct life *receiver = receives ? queue_receiver(receives) : NULL;
	const struct qp *qp = receiver ? receiver->qp : NULL;

	if (polled || !oldest)
		return polled;
	return qp && qp->rtr.time > oldest->time ? qp->rtr.time : oldest->time;
}

/* The state of a queue pair until the modify that has just begun. */
static int get_state_before(const struct life *qp)
{
	return qp->qp->changing == 1 ? qp->qp->state : qp_state(qp);
}

/*
 * All messages of both ends have been received, and both have receives for more: no message in
 * flight will make either of them send.
 */
static bool do_both_wait(const struct model *model, const struct wait *wait, const struct life *qp)
{
	const struct peer_work *work = &wait->work;
	struct peer_work own;

	if (!work->known || !work->room || wait->gone <= wait->end - PATIENCE_NS ||
	    work->state != ABI_QPS_RTS || get_state_before(qp) != ABI_QPS_RTS || wait->qp == qp->id)
		return false;
	own = queues_peer_work(qp);
	return own.known && work->to_receives == own.received &&
	       own.to_receives == work->received &&
	       wait->end - last_verb_progress(model, wait->process) >= PATIENCE_NS;
}

/* Note the state of the CQ's channel, and another armed CQ of that channel. */
static void note_channel(struct wait_cq *cq, const struct life *life,
			 const struct activity_note *note)
{
	const struct life_link *link = life->parents;
	const struct life *other = cq_event_find_other(life);

	while (link && link->parent->kind != OBJECT_comp_channel)
		link = link->next_parent;
	if (!link || !life->wake)
		return;
	cq->has_channel = true;
	cq->sleeps = activity_find_sleep(note, link->parent->handle);
	cq->wake = *life->wake;
	cq->read = link->parent->got;
	cq->read_dry = link->parent->dry;
	if (!other)
		return;
	snprintf(cq->other, sizeof(cq->other), "%s", other->name);
	cq->other_armed = other->wake->armed.id;
}

/* The queue pair of an SRQ that has most messages in its CQ, which were not polled. */
static const struct life *find_unread(const struct queue *queue)
{
	const struct life_link *link = queue->owner ? queue->owner->children : NULL;
	const struct life *found = NULL;

	for (; link; link = link->next_child) {
		const struct life *qp = link->child;

		if (qp->kind == OBJECT_qp && !qp->unwatched && qp->arrived > qp->taken &&
		    (!found || qp->arrived - qp->taken > found->arrived - found->taken))
			found = qp;
	}
	return found;
}

static void note_cq(struct wait *wait, struct model *model, const struct queue *queue,
		    const struct activity_note *note)
{
	const struct life *qp = queue_receiver(queue) ?: find_unread(queue), *life;

	if (!qp || !qp->qp)
		return;
	life = model_life(model, qp->process, OBJECT_cq,
			  queue->send ? qp->qp->send_cq : qp->qp->recv_cq);
	if (!life || life->state != LIFE_LIVE || life->inherited)
		return;
	snprintf(wait->cq.name, sizeof(wait->cq.name), "%s", life->name);
	wait->cq.id = life->id;
	wait->cq.deaf = life->deaf.id;
	if (!queue->send && !qp->unwatched && qp->arrived > qp->taken)
		wait->cq.lying = qp->arrived - qp->taken;
	note_channel(&wait->cq, life, note);
}

static void note_retry_time(struct wait *wait, const struct qp *qp)
{
	if (!qp || qp->type != ABI_QPT_RC)
		return;
	wait->no_timeout = qp->set & ABI_QP_TIMEOUT && !qp->timeout;
	wait->timeout = qp->timeout;
	wait->retry_cnt = qp->retry_cnt;
	wait->retry_time = qp_retry_time(qp);
	wait->no_rnr_limit = qp->set & ABI_QP_RNR_RETRY && qp->rnr_retry == 7;
	if (qp->state == ABI_QPS_SQD)
		wait->drained = qp->moved;
	wait->no_reads = qp->set & ABI_QP_MAX_QP_RD_ATOMIC && !qp->max_rd_atomic &&
			 queue_reads(wait->oldest.opcode);
}

/* Note the size of the oldest receive: if a UC or UD message does not fit, no end is notified. */
static void note_receive_size(struct wait *wait, struct model *model, const struct queue *queue)
{
	const struct life *qp = queue_receiver(queue);
	const struct queue_request *oldest = queue_oldest(queue);

	if (!qp || !qp->qp || (qp->qp->type != ABI_QPT_UD && qp->qp->type != ABI_QPT_UC) ||
	    !qp->peer || !peer_is_only(model_peers(model), qp->peer))
		return;
	wait->number = qp->peer->number;
	wait->datagrams = qp->qp->type == ABI_QPT_UD;
	wait->group = qp->last_group;
	for (uint32_t i = 0; oldest && i < oldest->nsge; i++)
		wait->room += queue_sge(queue, oldest, i)->length;
}

/* Since when no receive of an SRQ can complete: all queue pairs that use it are in ERR. */
static struct moment find_unflushed(const struct life *srq)
{
	struct moment last = { 0 };

	for (const struct life_link *link = srq->children; link; link = link->next_child) {
		const struct life *qp = link->child;

		if (qp->kind != OBJECT_qp || (qp->state != LIFE_LIVE && qp->state != LIFE_DYING))
			continue;
		if (qp_state(qp) != ABI_QPS_ERR)
			return (struct moment){ 0 };
		if (qp->qp->moved.time >= last.time)
			last = qp->qp->moved;
	}
	return last;
}

/* The queue pair itself is no other one, if its process has both ends. */
static struct receive_cq find_peer_cq(struct model *model, const struct life *qp)
{
	const struct peer *peer = peer_find_other(model_peers(model), qp->peer);
	struct receive_cq cq = peer->life ? queues_receive_cq(peer->life) : peer->left_cq;

	if (cq.others && queues_receive_cq(qp).id == cq.id)
		cq.others--;
	return cq;
}

void waits_fill(struct waits *waits, struct wait *wait, struct model *model,
		const struct queue *queue, const struct queue_request *oldest,
		const struct activity_note *note)
{
	const struct life *qp = queue_receiver(queue);

	wait->end = note->time;
	wait->gone = INT64_MAX;
	wait->since = find_silence_begin(model, note->process, oldest ? NULL : queue);
	wait->outstanding = queue->outstanding;
	wait->completed = queue->completed;
	snprintf(wait->queue, sizeof(wait->queue), "%s", queue->owner->name);
	if (oldest)
		wait->oldest = *oldest;
	if (qp)
		note_peer(wait, model, qp);
	note_cq(wait, model, queue, note);
	if (oldest) {
		note_retry_time(wait, queue->owner->qp);
	} else {
		if (queue->owner->kind == OBJECT_srq)
			wait->unflushed = find_unflushed(queue->owner);
		note_receive_size(wait, model, queue);
		wait->both = qp && do_both_wait(model, wait, qp);
		if (wait->both)
			wait->their_cq = find_peer_cq(model, qp);
	}
	if (wait->process)
		activity_store_sleep(waits->activity, model, wait->process, wait->end,
				     &wait->theirs);
}

/* Did the process wait for a request until @end? Sets @found to it. */
static bool find_late_request(struct model *model, uint32_t process, int64_t end,
			      struct outstanding_requests *found)
{
	queues_each(model, process, note_oldest_request, found);
	return found->sends
		       ? end - found->oldest->time >= PATIENCE_NS
		       : found->receives && end - last_verb_progress(model, process) >= PATIENCE_NS;
}

/*
 * Did a send wait for SOON_NS? The wait counts if the process polled, which is known only at the
 * end of the trace.
 */
static bool is_send_waiting(const struct outstanding_requests *found, int64_t end)
{
	return found->sends && end - found->oldest->time >= SOON_NS;
}

/* Can none of the outstanding requests complete, and has the process stopped making progress? */
static bool is_stuck(const struct model *model, const struct outstanding_requests *found,
		     uint32_t process, int64_t end)
{
	return found->mute && end - last_verb_progress(model, process) >= PATIENCE_NS;
}

static void fill_unsignalled(struct wait *wait, struct model *model, const struct queue *queue,
			     const struct activity_note *note)
{
	*wait = (struct wait){ .end = note->time,
			       .gone = INT64_MAX,
			       .mute = true,
			       .outstanding = queue->outstanding,
			       .oldest = *queue_at(queue, queue->count - 1) };
	snprintf(wait->queue, sizeof(wait->queue), "%s", queue->owner->name);
	note_cq(wait, model, queue, note);
}

/* Note what @process waits for at @time. False: it waits for nothing. */
static bool note_wait_before(struct waits *waits, struct model *model, uint32_t process,
			     int64_t time, struct wait_before *before)
{
	struct outstanding_requests found = { 0 };
	bool late = find_late_request(model, process, time, &found);
	bool stuck = is_stuck(model, &found, process, time);

	if (!late && !stuck)
		return false;
	drop_wait_before(before);
	before->process = process;
	activity_store_sleep(waits->activity, model, process, time, &before->note);
	if (late)
		waits_fill(waits, &before->late, model, found.sends ?: found.receives, found.oldest,
			   &before->note);
	if (stuck)
		fill_unsignalled(&before->mute, model, found.mute, &before->note);
	return true;
}

static struct wait_before *wait_before_of(struct waits *waits, uint32_t process)
{
	return vec_at(waits->before, waits->nbefore, process);
}

/* The queue pair whose receives a RESET removed long ago, without completions. */
static struct wait_dropped find_dropped(const struct model *model, uint32_t process, int64_t time)
{
	struct wait_dropped dropped = { 0 };

	for (struct life *qp = NULL; (qp = model_next_life(model, process, qp));) {
		struct peer_work work = { 0 };
		bool exists = qp->state == LIFE_LIVE || qp->state == LIFE_DYING;

		if (qp->kind == OBJECT_qp && exists && !qp->inherited && qp->qp)
			work = queues_peer_work(qp);
		if (!work.known || work.state != ABI_QPS_RESET ||
		    work.dropped <= dropped.receives || time - work.moved.time < PATIENCE_NS)
			continue;
		dropped.receives = work.dropped;
		dropped.reset = work.moved;
		snprintf(dropped.qp, sizeof(dropped.qp), "%s", qp->name);
	}
	return dropped;
}

/*
 * Note a process without outstanding requests: it may poll, and a RESET may have dropped receives.
 */
static void note_idle_process(struct waits *waits, struct model *model, uint32_t process,
			      int64_t time, struct wait_before *before)
{
	const struct steady *steady = steady_of(model, process);

	if (time - last_verb_progress(model, process) < PATIENCE_NS)
		return;
	drop_wait_before(before);
	before->process = process;
	before->dropped = find_dropped(model, process, time);
	before->poster = steady && steady->nposters == 1 ? steady->posters[0] : 0;
	before->began = steady ? steady->first_send : 0;
	activity_store_sleep(waits->activity, model, process, time, &before->note);
}

/* Has the process made no progress since @before? */
static bool is_wait_current(const struct model *model, const struct wait_before *before)
{
	return before->process && last_verb_progress(model, before->process) <= before->note.time;
}

/* A process destroys all its queue pairs: the first destroy determines its wait. */
void waits_note_destroy(struct waits *waits, struct model *model, const struct trace_event *event)
{
	struct wait_before *before = wait_before_of(waits, event->process);

	waits_note_dropped(waits, model, event);
	if (before && !is_wait_current(model, before) &&
	    !note_wait_before(waits, model, event->process, event->time, before))
		note_idle_process(waits, model, event->process, event->time, before);
}

static struct wait_threads *add_threads(struct waits *waits, size_t fact)
{
	struct wait_threads *threads = vec_push(waits->threads, waits->nthreads);

	if (threads)
		threads->fact = fact;
	return threads;
}

static void push_wait(struct waits *waits, struct wait *wait, size_t fact)
{
	struct wait *place = wait->end ? vec_push(waits->all, waits->n) : NULL;

	if (!place)
		return;
	*place = *wait;
	place->fact = fact;
	*wait = (struct wait){ 0 };
}

void waits_store_before(struct waits *waits, struct wait_before *before, size_t fact)
{
	struct wait_threads *threads = add_threads(waits, fact);

	push_wait(waits, &before->late, fact);
	push_wait(waits, &before->mute, fact);
	if (threads) {
		threads->dropped = before->dropped;
		threads->note = before->note;
		before->note = (struct activity_note){ 0 };
	}
	drop_wait_before(before);
}

/*
 * Did the process give up its wait in an orderly way, and then end? If so, moves the wait to @fact.
 */
static bool push_wait_before(struct waits *waits, uint32_t process, size_t fact)
{
	struct wait_before *before = &waits->before[process];
	bool late = before->late.end;

	waits_store_before(waits, before, fact);
	return late;
}

static struct wait *add_wait(struct waits *waits, struct model *model, const struct queue *queue,
			     const struct queue_request *oldest, const struct wait_threads *threads)
{
	struct wait *wait = vec_push(waits->all, waits->n);

	if (!wait)
		return NULL;
	waits_fill(waits, wait, model, queue, oldest, &threads->note);
	wait->fact = threads->fact;
	return wait;
}

static void add_unsignalled(struct waits *waits, struct model *model, const struct queue *queue,
			    const struct wait_threads *threads)
{
	struct wait *wait = vec_push(waits->all, waits->n);

	if (!wait)
		return;
	fill_unsignalled(wait, model, queue, &threads->note);
	wait->fact = threads->fact;
}

/* Which of several CQs the process polls is known only at the end of the trace. */
static void add_alternatives(struct waits *waits, struct model *model,
			     const struct outstanding_requests *found,
			     const struct wait_threads *threads)
{
	for (size_t i = 0; i < found->nall && found->nall > 1; i++) {
		struct wait *wait = found->all[i]->cq == found->receives->cq
					    ? NULL
					    : add_wait(waits, model, found->all[i], NULL, threads);

		if (wait)
			wait->alternative = true;
	}
}

bool waits_note_exit(struct waits *waits, struct model *model, const struct model_exit *end,
		     size_t fact)
{
	const struct fact *killed = &waits->facts->all[fact];
	struct outstanding_requests found = { 0 };
	bool late, stuck, idle = end->time - last_verb_progress(model, end->process) >= PATIENCE_NS;
	struct wait_threads *threads;
	struct wait *wait;

	if (killed->kind == FACT_KILLED && !is_sent_from_outside(killed->error))
		return true;
	late = find_late_request(model, end->process, end->time, &found);
	stuck = is_stuck(model, &found, end->process, end->time);
	if (!late && !stuck && end->process < waits->nbefore &&
	    is_wait_current(model, &waits->before[end->process]))
		return push_wait_before(waits, end->process, fact);
	threads = add_threads(waits, fact);
	if (!threads)
		return late;
	activity_store_sleep(waits->activity, model, end->process, end->time, &threads->note);
	if (stuck)
		add_unsignalled(waits, model, found.mute, threads);
	if (!late && idle)
		threads->dropped = find_dropped(model, end->process, end->time);
	if (!late && killed->kind == FACT_EXITED && is_send_waiting(&found, end->time)) {
		wait = add_wait(waits, model, found.sends, found.oldest, threads);
		if (wait)
			wait->soon = true;
	}
	if (!late)
		return threads->dropped.receives;
	wait = add_wait(waits, model, found.sends ?: found.receives, found.oldest, threads);
	if (wait && !found.sends)
		add_alternatives(waits, model, &found, threads);
	if (!wait || !found.sends || !has_arrived(model, &found))
		return true;
	wait->arrived = true;
	if (found.receives && idle)
		add_wait(waits, model, found.receives, NULL, threads);
	return true;
}

void waits_note_success(struct waits *waits, struct model *model, const struct model_exit *end)
{
	struct wait_before *well = vec_push(waits->well, waits->nwell);
	struct wait_before *before =
		end->process < waits->nbefore ? &waits->before[end->process] : NULL;

	if (!well || note_wait_before(waits, model, end->process, end->time, well))
		return;
	if (before && is_wait_current(model, before)) {
		*well = *before;
		*before = (struct wait_before){ 0 };
	} else {
		note_idle_process(waits, model, end->process, end->time, well);
	}
}
