/*
 * What a process waited for, in words
 *
 *	1 receive of qp1 outstanding, no completion polled for 1.00 s;
 *	peer process 2 (app) qp1: in ERR since 2:46, 0 sends posted by the peer, 0 received by
 *	this one; 1 completion was in cq1, not polled, armed by 1:46 after it had come: ...
 *
 * Actions of the other end after the wait, when it destroyed its objects, are not the cause.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "analyzer/facts/waits_priv.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/words.h"
#include "core/store/read/joint.h"

enum { TEXT = 128, GRH = 40 /* bytes of a datagram's buffer */, EMPTY = 2 /* polls of a waiter */ };
enum { ARRIVED_NS = 20000000 }; /* longer than a message takes */

static void put_waited_for(struct text *t, const struct wait *wait)
{
	const struct enum_info *opcodes = enum_find("ibv_wr_opcode");
	const char *opcode = enum_name(opcodes, wait->oldest.opcode);
	char id[32], when[32], n[WORDS_COUNT];

	text_addf(
		t, "%s of %s outstanding",
		words_format_count(wait->outstanding, wait->oldest.thread ? "send" : "receive", n),
		wait->queue);
	if (wait->oldest.thread)
		text_addf(t, ", the oldest, %s %s, for %s", opcode ?: "one",
			  event_id_text(queue_id(&wait->oldest), id),
			  words_format_span(wait->end - wait->oldest.time, when));
	else
		text_addf(t, ", no completion polled for %s",
			  words_format_span(wait->end - wait->since, when));
}

/*
 * Report the end of the peer's process; false: it did not end long enough before the end of the
 * wait.
 */
static bool put_ended(struct text *t, const struct waits *waits, const struct wait *wait)
{
	const struct process *process = trace_process(waits->trace, wait->process);
	const char *signal = NULL;
	char when[32];

	if (!process || process->end < 0 || process->end > wait->end - PATIENCE_NS)
		return false;
	words_format_span(process->end, when);
	if (process->status != -1 && WIFSIGNALED(process->status))
		signal = sigabbrev_np(WTERMSIG(process->status));
	if (signal)
		text_addf(t, "killed by SIG%s at %s", signal, when);
	else if (process->status != -1 && WIFEXITED(process->status))
		text_addf(t, "its process had ended with status %d at %s",
			  WEXITSTATUS(process->status), when);
	else
		text_addf(t, "its process had ended at %s", when);
	return true;
}

/* Report that the peer's queue pair was destroyed: this end may wait for requests lost with it. */
static bool put_destroyed(struct text *t, const struct waits *waits, const struct wait *wait)
{
	const struct object *qp = trace_object(waits->trace, wait->qp);
	char id[32], when[32], n[WORDS_COUNT];

	if (!qp || !qp->destroyed.thread || qp->destroyed_at > wait->end - PATIENCE_NS)
		return false;
	text_addf(t, "destroyed by %s at %s", event_id_text(qp->destroyed, id),
		  words_format_span(qp->destroyed_at, when));
	if (wait->work.known && wait->work.sending && wait->gone != INT64_MAX)
		text_addf(t, ", with %s outstanding, whose completions it had not polled",
			  words_format_count(wait->work.sending, "send", n));
	if (wait->work.unread && wait->gone != INT64_MAX)
		text_addf(t, ", with %s of this end that it had not polled",
			  words_format_count(wait->work.unread, "message", n));
	return true;
}

/* A state in which the peer does not send, and (except RTR) does not receive. */
static void put_state(struct text *t, const struct wait *wait)
{
	const struct moment *moved = &wait->work.moved;
	char id[32];

	switch (wait->work.state) {
	case ABI_QPS_RESET:
	case ABI_QPS_INIT:
		text_addf(t, "in %s: it responds only from RTR on",
			  qp_state_name(wait->work.state));
		break;
	case ABI_QPS_RTR:
		if (!wait->oldest.thread)
			text_addf(t, "in RTR: it sends only from RTS on");
		break;
	case ABI_QPS_SQE:
	case ABI_QPS_ERR:
		if (moved->id.thread && moved->time <= wait->end - PATIENCE_NS)
			text_addf(t, "in %s since %s", qp_state_name(wait->work.state),
				  event_id_text(moved->id, id));
		break;
	default:
		break;
	}
}

/* A WRITE is not a message: its target is not notified. */
static void put_sends(struct text *t, const struct wait *wait)
{
	const struct peer_work *work = &wait->work;
	char n[WORDS_COUNT];

	text_addf(t, "%s%s", t->used ? ", " : "", words_format_count(work->to_receives, "send", n));
	if (work->writes)
		text_addf(t, " and %s", words_format_count(work->writes, "RDMA WRITE", n));
	text_addf(t, " posted by the peer, %" PRIu64 " received by this one", wait->completed);
	if (work->writes)
		text_addf(t, " (a WRITE has no completion at this end, IBV_WR_RDMA_WRITE_WITH_IMM "
			     "has)");
}

/*
 * The receives of the other end are consumed, or dropped: nothing more can be sent to it. @gone: it
 * has ended, and posts no other.
 */
static void put_no_receives(struct text *t, const struct wait *wait, bool gone)
{
	const struct peer_work *work = &wait->work;
	char n[WORDS_COUNT];

	if (work->room || work->state == ABI_QPS_ERR)
		return;
	text_addf(t, "%s", t->used ? ", " : "");
	if (work->receives)
		text_addf(t, "its %s%s consumed and no other was posted",
			  words_format_count(work->receives, "receive", n),
			  work->receives == 1 ? " was" : " were");
	else if (work->dropped)
		text_addf(t, "its RESET dropped %s and no other was posted",
			  WORDS_N(work->dropped, "receive"));
	else if (work->before)
		text_addf(t, "no receive was posted since its RESET");
	else
		text_addf(t, "it had never posted a receive");
	if (wait->oldest.thread && wait->no_rnr_limit && !gone)
		text_addf(t, " (rnr_retry 7: the send waits for the next without a limit)");
}

/* The queue pairs of an SRQ were sent more messages than it had receives. */
static void put_pool(struct text *t, const struct waits *waits, const struct wait *wait)
{
	const struct shared_receives *pool = &wait->pool;
	const struct object *srq = trace_object(waits->trace, pool->srq);

	if (!srq || !srq->name)
		return;
	text_addf(t,
		  "%sit receives from %s, to which %s %s posted for %" PRIu64
		  " messages to its %u queue pairs",
		  t->used ? ", " : "", srq->name, WORDS_N(pool->receives, "receive"),
		  pool->receives == 1 ? "was" : "were", pool->messages, pool->users);
	if (!wait->no_rnr_limit)
		text_addf(t, ": a send that finds none fails with IBV_WC_RNR_RETRY_EXC_ERR");
}

/* The peer's last post, if it completes nothing at this end. */
static void put_last_post(struct text *t, const struct wait *wait)
{
	const struct moment *last = &wait->work.last;
	char id[32], when[32];

	if (!last->id.thread || last->time > wait->end)
		return;
	text_addf(t, ", its last post %s() %s, %s earlier", verb_infos[last->verb].name,
		  event_id_text(last->id, id), words_format_span(wait->end - last->time, when));
	if (wait->work.state == ABI_QPS_ERR && verb_is_send(last->verb) &&
	    last->time > wait->work.moved.time)
		text_addf(t, ", which is flushed in ERR");
}

/* Report which of the awaited operations the other end has done. */
static void put_peer_work(struct text *t, const struct waits *waits, const struct wait *wait,
			  bool gone)
{
	const struct peer_work *work = &wait->work;

	put_pool(t, waits, wait);
	if (!work->known)
		return;
	if (!wait->oldest.thread) {
		put_sends(t, wait);
		if (work->received && !wait->both)
			put_no_receives(t, wait, gone);
		put_last_post(t, wait);
	} else if (wait->arrived) {
		text_addf(t, "%sthe peer had received these messages", t->used ? ", " : "");
	} else if (queue_takes_receive(wait->oldest.opcode)) {
		put_no_receives(t, wait, gone);
	}
}

/* Do the threads of @note wait for a completion of @cq? It may be armed for poll(2). */
static bool is_watching(const struct waits *waits, const struct activity_note *note,
			const struct wait_cq *cq)
{
	return cq->sleeps || (cq->has_channel && cq->wake.is_armed) ||
	       (note && activity_count_empty(waits->activity, note, cq->id) >= EMPTY);
}

/* Does a thread of the peer's process wait for a completion on @cq (object; 0: any)? */
static bool do_they_wait(const struct waits *waits, const struct wait *wait, uint32_t cq,
			 uint64_t channel)
{
	return (cq && !channel ? NULL : activity_find_sleep(&wait->theirs, channel)) ||
	       activity_count_empty(waits->activity, &wait->theirs, cq) >= EMPTY;
}

/*
 * Report that each end waits for a message of the other, if the threads of both show that: that of
 * the peer may wait for another one.
 */
static void put_both_wait(struct text *t, const struct waits *waits, const struct wait *wait,
			  const struct activity_note *note)
{
	const struct receive_cq *cq = &wait->their_cq;
	const struct object *object = trace_object(waits->trace, cq->id);
	bool there = wait->both_polled || do_they_wait(waits, wait, cq->id, cq->channel);
	char n[WORDS_COUNT];

	text_addf(t, "; the peer has only receives outstanding, too (%s)",
		  words_format_count(wait->work.room, "receive", n));
	if (there && (wait->both_polled || is_watching(waits, note, &wait->cq))) {
		text_addf(t, ": each end waits for a message of the other");
		if (cq->others)
			text_addf(t, ", the peer also for one to %s",
				  words_format_count(cq->others, "other queue pair", n));
	} else if (!there && do_they_wait(waits, wait, 0, 0)) {
		text_addf(t, ", and waits, but not for %s, where they complete",
			  object && object->name ? object->name : "its CQ");
	}
}

static void put_hangup(struct text *t, const struct waits *waits, const struct wait *wait)
{
	char name[TEXT], id[32], when[32];

	text_addf(t,
		  "; %s ended the connection by rdma_disconnect() %s, %s earlier, and no "
		  "rdma_get_cm_event() has retrieved RDMA_CM_EVENT_DISCONNECTED of %s",
		  words_name_process(waits->trace, wait->process, name, sizeof(name)),
		  event_id_text(wait->hangup.id, id),
		  words_format_span(wait->end - wait->hangup.time, when), wait->hung_id);
}

static void put_peer(struct text *t, const struct waits *waits, const struct wait *wait,
		     const struct activity_note *note)
{
	const struct object *qp = trace_object(waits->trace, wait->qp);
	struct text why = { 0 };
	char name[TEXT], when[32];
	bool gone;

	text_addf(t, "; peer %s %s",
		  words_name_process(waits->trace, wait->process, name, sizeof(name)),
		  qp && qp->name ? qp->name : "queue pair");
	gone = put_destroyed(&why, waits, wait) || put_ended(&why, waits, wait);
	if (!gone)
		put_state(&why, wait);
	else if (wait->oldest.thread && wait->end - wait->oldest.time < wait->retry_time)
		text_addf(&why,
			  "; the send fails after %s at the earliest (timeout %u, retry_cnt %u)",
			  words_format_span(wait->retry_time, when), wait->timeout,
			  wait->retry_cnt);
	put_peer_work(&why, waits, wait, gone);
	if (why.used)
		text_addf(t, ": %s", why.at);
	text_fini(&why);
	if (wait->both)
		put_both_wait(t, waits, wait, note);
}

/* Whether any of these datagrams should have come depends on who was in the group when. */
static void put_sent_to_group(struct text *t, const struct waits *waits, const struct wait *wait)
{
	const struct sent_to *to = sent_find_group(&waits->sent, wait->group);
	const struct object *qp = to ? trace_object(waits->trace, to->qp) : NULL;
	char name[TEXT], n[WORDS_COUNT];

	if (to && to->process != waits->facts->all[wait->fact].process)
		text_addf(t, "; %s %s has sent %s to its multicast group, and it received %" PRIu64,
			  words_name_process(waits->trace, to->process, name, sizeof(name)),
			  qp && qp->name ? qp->name : "queue pair",
			  words_format_count(to->messages, "datagram", n), wait->completed);
}

/* Report messages that were too long for the receive of a queue pair that cannot refuse them. */
static void put_sent(struct text *t, const struct waits *waits, const struct wait *wait)
{
	const struct sent_to *to = sent_find(&waits->sent, wait->number);
	const struct object *qp = to ? trace_object(waits->trace, to->qp) : NULL;
	uint64_t bytes = to ? to->bytes + (wait->datagrams ? GRH : 0) : 0;
	char name[TEXT], n[WORDS_COUNT];

	if (wait->datagrams && wait->group)
		put_sent_to_group(t, waits, wait);
	if (!to && wait->datagrams && !wait->group)
		text_addf(t, "; no process in this trace has sent to this queue pair");
	if (!to || (!wait->datagrams && bytes <= wait->room))
		return;
	if (wait->datagrams)
		text_addf(t, "; %s %s has sent %s to this queue pair, which received %" PRIu64,
			  words_name_process(waits->trace, to->process, name, sizeof(name)),
			  qp && qp->name ? qp->name : "queue pair",
			  words_format_count(to->messages, "datagram", n), wait->completed);
	if (bytes <= wait->room)
		return;
	text_addf(t, "; the last, of %s%s, did not fit: the receives have %" PRIu64,
		  WORDS_N(to->bytes, "byte"), wait->datagrams ? " and the 40 of the GRH" : "",
		  wait->room);
}

/*
 * The reason why no event came for completions in the CQ, or why none will come for later ones.
 * @after: when the completion may have come, before the CQ was armed, and @what happened then; 0:
 * not known.
 */
static void put_arming(struct text *t, const struct wait_cq *cq, int64_t after, const char *what)
{
	const struct cq_event *wake = &cq->wake;
	char id[32], when[32];

	event_id_text(wake->armed.id, id);
	if (!wake->armed.id.thread)
		text_addf(t, "was never armed: its channel gets no event");
	else if (!wake->is_armed)
		text_addf(t,
			  "was armed last by %s, and its event was retrieved: it was not armed "
			  "again",
			  id);
	else if (wake->solicited && !(cq->lying && wake->asked))
		text_addf(t, "was armed by %s for solicited events only%s", id,
			  cq->lying ? ", and no message had IBV_SEND_SOLICITED" : "");
	else if (cq->lying && wake->armed.time > wake->since)
		text_addf(t,
			  "was armed after that, by %s: a completion already in the CQ "
			  "gives no event",
			  id);
	else if (after)
		text_addf(t,
			  "was armed by %s, %s after %s: a completion that was in the CQ by then "
			  "gives no event",
			  id, words_format_span(wake->armed.time - after, when), what);
	else
		text_addf(t, "was armed by %s%s", id,
			  !cq->lying ? ""
			  : wake->sent > wake->armed.time
				  ? " before that: its event was not retrieved"
				  : ": a completion that was in the CQ by then gives no event");
	if (cq->other[0])
		text_addf(t, "; %s of the same channel was armed by %s", cq->other,
			  event_id_text(cq->other_armed, id));
}

/* @time, if the CQ was armed after it, and no completion was polled after that; else 0. */
static int64_t armed_after(const struct wait *wait, int64_t time)
{
	const struct cq_event *wake = &wait->cq.wake;

	return wake->armed.id.thread && wake->armed.time > time &&
			       wake->polled.time <= wake->armed.time && !wait->mute
		       ? time
		       : 0;
}

/*
 * Report that completions may be in the CQ unpolled: no thread polls the CQ, and it delivers no
 * event at all, or no event for completions that came before it was armed, as completions of sends
 * may have. @empty: empty polls since the last completions, or their maximum.
 */
static void put_unpolled(struct text *t, const struct wait *wait, uint64_t empty)
{
	const struct wait_cq *cq = &wait->cq;
	const struct moment *armed = &cq->wake.armed;
	int64_t after = wait->oldest.thread && !empty ? armed_after(wait, wait->oldest.time) : 0;

	if (after || (empty < WAIT_POLLS &&
		      (!armed->id.thread || !cq->wake.is_armed || cq->wake.solicited))) {
		text_addf(t, "; %s ", cq->name);
		put_arming(t, cq, after, "this receive was posted, and not polled again");
	}
}

/*
 * The CQ was armed before the send was posted, and its channel was not read until no event was in
 * it, nor since: with edge-triggered epoll(7), no wake-up leads to the other events.
 */
static void put_unread(struct text *t, const struct wait *wait, uint64_t empty)
{
	const struct wait_cq *cq = &wait->cq;
	char armed[32], read[32], when[32];

	if (!wait->oldest.thread || !cq->wake.is_armed || cq->wake.solicited || cq->sleeps ||
	    cq->wake.armed.time > wait->oldest.time || empty >= WAIT_POLLS || !cq->read.id.thread ||
	    cq->read_dry || wait->end - cq->read.time < PATIENCE_NS)
		return;
	text_addf(t,
		  "; %s was armed by %s, before this send: its event, if it came, was not "
		  "retrieved, since the last ibv_get_cq_event() on its channel was %s, %s earlier, "
		  "which found an event of another CQ",
		  cq->name, event_id_text(cq->wake.armed.id, armed),
		  event_id_text(cq->read.id, read),
		  words_format_span(wait->end - cq->read.time, when));
}

/*
 * When the peer posted its last message, if that was before the CQ was armed, and no thread has
 * polled the CQ since; else 0. One empty poll, of unknown time, was the end of the loop before the
 * arming, if the message had ARRIVED_NS to arrive: a later poll would have found it.
 */
static int64_t armed_after_peer(const struct waits *waits, const struct wait *wait,
				const struct activity_note *note, const char **ret_what)
{
	const struct peer_work *work = &wait->work;
	int64_t slack, after;
	uint64_t empty;

	*ret_what = "the peer's last post, and not polled again";
	if (!note || !work->last.id.thread)
		return 0;
	slack = trace_order_uncertainty(waits->trace, note->process, wait->process);
	after = slack == INT64_MAX ? 0 : armed_after(wait, work->last.time + slack);
	empty = activity_count_empty(waits->activity, note, wait->cq.id);
	if (!empty || !after)
		return after;
	*ret_what = "the peer's last post, and no completion was polled since";
	return empty == 1 && wait->cq.wake.polled.id.thread &&
			       wait->cq.wake.armed.time - after >= ARRIVED_NS
		       ? after
		       : 0;
}

/*
 * Report that the awaited completion may already be in the CQ: the peer has completed the
 * operation, or has sent more messages than were received.
 */
static void put_cq(struct text *t, const struct waits *waits, const struct wait *wait,
		   const struct activity_note *note)
{
	const struct wait_cq *cq = &wait->cq;
	const struct peer_work *work = &wait->work;
	bool sent = !wait->oldest.thread && work->known && work->state != ABI_QPS_ERR &&
		    work->to_receives > wait->completed;
	const char *what;
	uint64_t empty;
	int64_t after;
	char n[WORDS_COUNT], id[32];

	if (cq->lying)
		text_addf(t, "; %s had come to %s and %s not polled",
			  words_format_count(cq->lying, "completion", n), cq->name,
			  cq->lying == 1 ? "was" : "were");
	if (cq->deaf.thread && (cq->lying || sent || wait->arrived))
		text_addf(t,
			  "; %s was armed by %s, but created without a channel: it gives no event",
			  cq->lying ? "it" : cq->name, event_id_text(cq->deaf, id));
	if (!cq->has_channel)
		return;
	if (!(cq->lying || sent || (cq->sleeps && !cq->wake.is_armed) || wait->arrived)) {
		empty = note ? activity_count_empty(waits->activity, note, cq->id) : UINT64_MAX;
		put_unpolled(t, wait, empty);
		put_unread(t, wait, empty);
		return;
	}
	text_addf(t, "%s", cq->lying ? "; it " : "; ");
	if (!cq->lying)
		text_addf(t, "%s ", cq->name);
	after = armed_after_peer(waits, wait, note, &what);
	put_arming(t, cq, sent ? after : 0, what);
}

static void put_unsignalled(struct text *t, const struct wait *wait)
{
	char n[WORDS_COUNT], id[32];

	text_addf(t,
		  "%s of %s outstanding, %snot signalled, the last at %s: no completion can "
		  "come to %s (sq_sig_all is 0; set IBV_SEND_SIGNALED)",
		  words_format_count(wait->outstanding, "send", n), wait->queue,
		  wait->outstanding > 1 ? "all " : "", event_id_text(queue_id(&wait->oldest), id),
		  wait->cq.name);
}

void waits_describe(struct text *t, const struct waits *waits, const struct wait *wait,
		    const struct activity_note *note)
{
	char id[32];

	if (wait->mute) {
		put_unsignalled(t, wait);
		return;
	}
	put_waited_for(t, wait);
	if (wait->no_reads)
		text_addf(t, " (max_rd_atomic 0: no READ and no atomic is sent)");
	if (wait->drained.id.thread)
		text_addf(t, " (in SQD since %s: it sends nothing until it is moved to RTS)",
			  event_id_text(wait->drained.id, id));
	if (wait->oldest.thread && wait->no_timeout && !wait->arrived)
		text_addf(t, " (timeout 0: without a limit)");
	if (wait->unflushed.id.thread)
		text_addf(
			t,
			"; its queue pairs are in ERR, the last since %s, which does not flush the "
			"receives of an SRQ: IBV_EVENT_QP_LAST_WQE_REACHED comes instead",
			event_id_text(wait->unflushed.id, id));
	if (wait->hangup.id.thread)
		put_hangup(t, waits, wait);
	if (wait->cq.lying) /* the cause is printed first */
		put_cq(t, waits, wait, note);
	if (wait->process)
		put_peer(t, waits, wait, note);
	if (wait->number)
		put_sent(t, waits, wait);
	if (!wait->cq.lying)
		put_cq(t, waits, wait, note);
}

void waits_describe_peers(struct text *t, const struct waits *waits, const struct wait *wait)
{
	const struct process *other = trace_process(waits->trace, wait->process);
	char process[PROCESS_TEXT];

	if (!other || (other->end >= 0 && other->end <= wait->end - PATIENCE_NS))
		return;
	process_id_text(wait->process, process);
	activity_describe(waits->activity, &wait->theirs, process, t);
}
