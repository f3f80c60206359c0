/*
 * How the other end explains the first error of a queue pair
 *
 * 	completion in error	its state, its receive queue; noted
 * 	until the trace ends	its first receive, its modify to RTR
 * 	end of the trace	one sentence: the first of these that explains the error
 *
 * The other end is known only by its events: it may have been dead or stopped since the last of
 * them, and the recorder may learn later that a process has ended.
 */
#include "analyzer/facts/cause_priv.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyzer/facts/why.h"
#include "analyzer/model/last_verb.h"
#include "analyzer/model/receive_level.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"

enum { NOTICE_NS = 1000000000 }; /* the end of a process is noticed at most this much later */

void cause_set_text(char **text, const char *format, ...)
{
	va_list args;

	free(*text);
	va_start(args, format);
	if (vasprintf(text, format, args) < 0)
		*text = NULL;
	va_end(args);
}

/* Which queue pairs share the queue, and which of them took most of its receives. */
static void note_users(struct noted_error *noted, const struct queue *queue)
{
	uint64_t taken;

	memcpy(noted->srq, queue->owner->name, sizeof(noted->srq));
	for (const struct life_link *link = life_first_child(queue->owner); link;
	     link = life_next_child(queue->owner, link)) {
		if (link->child->kind != OBJECT_qp)
			continue;
		noted->users++;
		taken = receive_level_count_consumed(queue, link->child);
		if (taken <= noted->taken)
			continue;
		noted->taken = taken;
		memcpy(noted->user, link->child->name, sizeof(noted->user));
	}
}

/* How many receives of @queue, an SRQ, have messages that were not polled, or never will be. */
static uint64_t count_unpolled(const struct queue *queue)
{
	uint64_t n = queue->unread;

	for (const struct life_link *link = life_first_child(queue->owner); link;
	     link = life_next_child(queue->owner, link))
		if (!link->child->unwatched && link->child->arrived > link->child->taken)
			n += link->child->arrived - link->child->taken;
	return n;
}

/*
 * Have messages taken all receives of @queue, polled or not? The peer of the queue pair that has
 * the queue had sent @sent before the one that failed.
 */
static bool is_used_up(const struct queue *queue, uint64_t sent)
{
	if (!queue->outstanding)
		return true;
	if (queue->owner && queue->owner->kind == OBJECT_srq)
		return count_unpolled(queue) >= queue->outstanding;
	return sent >= queue->messages;
}

void cause_note_receives(struct noted_error *noted, const struct life *other, uint64_t sent)
{
	const struct queue *queue = other->rq;

	if (!queue || queue->doubt || !is_used_up(queue, sent))
		return;
	noted->empty = true;
	noted->lost =
		queue->unread < queue->outstanding ? (uint32_t)queue->unread : queue->outstanding;
	memcpy(noted->loser, queue->unread_user, sizeof(noted->loser));
	noted->unpolled = queue->outstanding - noted->lost;
	noted->posted = queue->messages;
	noted->dropped = queue->dropped;
	noted->last_posted = (struct moment){
		.id = { queue->stats.last_thread, queue->stats.last_number },
		.time = queue->stats.last_time,
	};
	noted->room = queue->limits.given ? queue->limits.given : queue->limits.asked;
	noted->queue = queue->owner ? queue->owner->handle : 0;
	noted->waiting = noted->queue != 0;
	if (queue->posted > queue->high) {
		noted->full = queue->level.full;
		noted->high = queue->high;
	}
	if (!queue->owner || queue->owner->kind != OBJECT_srq)
		return;
	note_users(noted, queue);
	if (queue->armed.id.thread && queue->owner->got.time > queue->armed.time) {
		noted->armed = queue->armed;
		noted->disarmed = queue->owner->got;
	}
}

void cause_note_cq(struct noted_error *noted, const struct life *other)
{
	const struct queue_cq *cq = other->rq && other->rq->cq ? other->rq->cq : NULL;

	if (!cq || !cq->owner || cq->doubt || !cq->given || cq->signalled <= cq->given)
		return;
	memcpy(noted->cq.name, cq->owner->name, sizeof(noted->cq.name));
	noted->cq.entries = cq->given;
	noted->cq.could = cq->signalled;
	noted->cq.polled = cq->stats.last_time;
}

void cause_note_misconnected(struct noted_error *noted, const struct life *qp,
			     const struct peer *peer)
{
	noted->astray.handle = peer->life->handle;
	noted->astray.number = qp->number;
	if (!peer->connected)
		return;
	noted->astray.rtr = peer->life->qp->rtr;
	noted->astray.told = peer->dest;
}

void cause_note_modify(const struct causes *causes, struct noted_error *noted,
		       const struct trace_event *event)
{
	const struct call *call = event->call;
	const struct object *object;
	int64_t state, number = 0;

	if (!noted->astray.handle || noted->astray.rtr.id.thread ||
	    event->process != noted->cause.process || call->handle != noted->astray.handle ||
	    !args_get(call->args, ARG(attr.qp_state), &state) || state != ABI_QPS_RTR)
		return;
	object = trace_object_at(causes->trace, event->process, OBJECT_qp, call->handle,
				 event->time);
	if (!object || object->id != noted->cause.qp)
		return;
	args_get(call->args, ARG(attr.dest_qp_num), &number);
	noted->astray.rtr = moment_of(event);
	noted->astray.told = (uint32_t)number;
}

/* "; all 64 receives were consumed, the last was posted at 2:34, 2.3 s earlier" */
static void put_consumed(const struct noted_error *noted, char text[CAUSE_TEXT])
{
	char id[32], when[32], n[WORDS_COUNT];
	int64_t before = noted->time - noted->last_posted.time;
	size_t used;

	text[0] = '\0';
	if (!noted->posted) {
		if (noted->dropped)
			snprintf(text, CAUSE_TEXT,
				 "; %s%s outstanding when the queue pair went to RESET, which "
				 "dropped them",
				 words_format_count(noted->dropped, "receive", n),
				 noted->dropped == 1 ? " was" : " were");
		return;
	}
	snprintf(text, CAUSE_TEXT, "; %s%s consumed, the last posted at %s, %s",
		 words_format_count(noted->posted, "receive", n),
		 noted->posted == 1 ? " was" : " were", event_id_text(noted->last_posted.id, id),
		 before <= noted->slack ? "at about the same time"
					: words_format_span(before, when));
	if (before > noted->slack)
		snprintf(text + strlen(text), CAUSE_TEXT - strlen(text), " earlier");
	used = strlen(text);
	if (noted->unpolled)
		snprintf(text + used, CAUSE_TEXT - used, "; %s had come and not been polled",
			 words_format_count(noted->unpolled, "message", n));
	used = strlen(text);
	if (noted->lost)
		snprintf(text + used, CAUSE_TEXT - used,
			 "; %s%s lost with %s, which was destroyed before %s polled",
			 words_format_count(noted->lost, "receive", n),
			 noted->lost == 1 ? " was" : " were", noted->loser,
			 noted->lost == 1 ? "it was" : "they were");
}

/* "; all 64 had been posted by 4:4592, 2.3 s earlier; since the queue was full, qp3 took 60 ..." */
static void put_drain(const struct noted_error *noted, char text[CAUSE_TEXT])
{
	char id[32], when[32];
	int n = 0;

	text[0] = '\0';
	if (noted->high && noted->time - noted->full.time > noted->slack)
		n = snprintf(text, CAUSE_TEXT, "; all %u had been posted by %s, %s earlier",
			     noted->high, event_id_text(noted->full.id, id),
			     words_format_span(noted->time - noted->full.time, when));
	if (noted->taken && noted->users > 1)
		snprintf(text + n, CAUSE_TEXT - (size_t)n,
			 "; since the queue was full, %s took %" PRIu64 " of the receives",
			 noted->user, noted->taken);
}

static void put_queue(const struct noted_error *noted, char text[CAUSE_TEXT])
{
	char n[WORDS_COUNT];

	if (!*noted->srq)
		snprintf(text, CAUSE_TEXT, "its receive queue");
	else
		snprintf(text, CAUSE_TEXT, "its shared receive queue %s, of %s,", noted->srq,
			 words_format_count(noted->users, "queue pair", n));
}

/* The event of an SRQ's limit comes once. */
static void put_limit(const struct noted_error *noted, char text[CAUSE_TEXT])
{
	char armed[32], id[32], when[32];

	text[0] = '\0';
	if (noted->disarmed.id.thread)
		snprintf(text, CAUSE_TEXT,
			 "; its srq_limit was armed at %s, its event came at %s, %s earlier, and "
			 "no ibv_modify_srq() armed it again",
			 event_id_text(noted->armed.id, armed),
			 event_id_text(noted->disarmed.id, id),
			 words_format_span(noted->time - noted->disarmed.time, when));
}

/* The other end's CQ may have been full: it then refuses messages. */
static void put_overrun(struct noted_error *noted)
{
	char polled[64], when[32];

	if (noted->cq.polled && noted->time - noted->cq.polled > noted->slack)
		snprintf(polled, sizeof(polled), "it last polled %s earlier",
			 words_format_span(noted->time - noted->cq.polled, when));
	else
		snprintf(polled, sizeof(polled), "%s",
			 noted->cq.polled ? "it polled at about the same time" : "it never polled");
	cause_set_text(&noted->cause.peer,
		       "its %s has %s for %" PRIu64 " outstanding requests, and %s: if it overran, "
		       "messages are refused (QUEUE-003)",
		       noted->cq.name, WORDS_N(noted->cq.entries, "entry"), noted->cq.could,
		       polled);
}

static void put_receives(struct noted_error *noted)
{
	char room[32] = "", came[96] = "", id[32], when[32], retry[32] = "", timer[48] = "";
	const char *which = noted->posted ? "next" : "first";
	char consumed[CAUSE_TEXT], drain[CAUSE_TEXT], queue[CAUSE_TEXT], limit[CAUSE_TEXT];

	put_consumed(noted, consumed);
	put_drain(noted, drain);
	put_queue(noted, queue);
	put_limit(noted, limit);
	if (noted->room)
		snprintf(room, sizeof(room), " (0 of %u posted)", noted->room);
	if (noted->receive.thread && noted->received - noted->time <= noted->slack)
		snprintf(came, sizeof(came),
			 "; its %s receive, %s, was posted at about the same time", which,
			 event_id_text(noted->receive, id));
	else if (noted->receive.thread)
		snprintf(came, sizeof(came), "; its %s receive, %s, was posted %s later", which,
			 event_id_text(noted->receive, id),
			 words_format_span(noted->received - noted->time, when));
	else if (!noted->missed)
		snprintf(came, sizeof(came), "; no %sreceive was posted",
			 noted->posted ? "further " : "");
	if (noted->rnr_retry >= 0)
		snprintf(retry, sizeof(retry), "; rnr_retry %d", noted->rnr_retry);
	if (noted->min_rnr_timer >= 0)
		snprintf(timer, sizeof(timer), ", its min_rnr_timer %.2f ms",
			 (double)qp_rnr_time((unsigned int)noted->min_rnr_timer) / 1e6);
	cause_set_text(&noted->cause.peer, "%s was empty%s%s%s%s%s%s%s", queue, room, limit,
		       consumed, drain, came, retry, timer);
}

/* "killed by SIGKILL", "its process had ended" */
static void describe_exit(const struct process *process, char text[CAUSE_TEXT])
{
	if (process->status != -1 && WIFSIGNALED(process->status)) {
		snprintf(text, CAUSE_TEXT, "killed by SIG%s",
			 sigabbrev_np(WTERMSIG(process->status)) ?: "?");
	} else if (process->status == -1 && process->ending && !strcmp(process->ending, "killed")) {
		snprintf(text, CAUSE_TEXT, "killed");
	} else {
		snprintf(text, CAUSE_TEXT, "its process had ended");
	}
}

/* The process was killed before the error, within the accuracy of the clocks. */
static bool put_killed(const struct causes *causes, const struct model *model,
		       struct noted_error *noted)
{
	const struct process *process = trace_process(causes->trace, noted->cause.process);
	char what[CAUSE_TEXT], last[32], at[32], before[32];
	int64_t apart;

	if (!process || process->end < 0 || noted->slack == INT64_MAX)
		return false;
	apart = noted->time - process->end;
	if (apart < noted->slack &&
	    (noted->status != ABI_WC_RETRY_EXC_ERR || apart < -noted->slack))
		return false;
	describe_exit(process, what);
	words_format_span(last_verb_time(model, process->id), last);
	if (apart < noted->slack)
		cause_set_text(&noted->cause.peer, "%s at about the same time, last verb at %s",
			       what, last);
	else
		cause_set_text(&noted->cause.peer, "%s at %s, %s earlier, last verb at %s", what,
			       words_format_span(process->end, at),
			       words_format_span(apart, before), last);
	return true;
}

/* Describe the error of the other end: with the length, if a message or a receive did not fit. */
static void name_failure(const struct noted_error *noted, const struct first_error *error,
			 char text[CAUSE_TEXT])
{
	const char *status = enum_name(enum_find("ibv_wc_status"), error->status);
	const struct first_request *request = &error->request;
	bool known = request->id.thread && request->nsge == 1 && !noted->cause.key;
	char id[32];

	if (known && error->status == ABI_WC_LOC_LEN_ERR && request->is_recv)
		snprintf(text, CAUSE_TEXT, "its receive %s has %s: %s",
			 event_id_text(request->id, id), WORDS_N(request->sge.length, "byte"),
			 status);
	else if (known && error->status == ABI_WC_REM_INV_REQ_ERR && !request->is_recv &&
		 request->opcode != ABI_WR_RDMA_WRITE_WITH_IMM &&
		 queue_takes_receive(request->opcode))
		snprintf(text, CAUSE_TEXT, "its message %s has %s: %s",
			 event_id_text(request->id, id), WORDS_N(request->sge.length, "byte"),
			 status);
	else
		snprintf(text, CAUSE_TEXT, "failed with %s", status ?: "an error");
}

/* If the other end has failed as well: its failure is often the cause. */
static bool put_failed(const struct causes *causes, struct noted_error *noted,
		       const struct first_error *own)
{
	const struct first_list *errors = causes->errors;
	char id[32], when[48], what[CAUSE_TEXT];

	for (size_t i = 0; i < errors->n; i++) {
		const struct first_error *error = &errors->all[i];

		if (!error->qp || error->qp != noted->cause.qp || error == own)
			continue;
		name_failure(noted, error, what);
		event_id_text(error->event, id);
		words_format_earlier(noted->time - error->time, noted->slack, when);
		cause_set_text(&noted->cause.peer, "%s at %s, %s", what, id, when);
		return true;
	}
	return false;
}

/* " until 2:34, 630 ms later" */
static void name_rtr(const struct noted_error *noted, char text[CAUSE_TEXT])
{
	const struct moment *rtr = &noted->astray.rtr;
	char id[32], when[32];

	if (!rtr->id.thread)
		snprintf(text, CAUSE_TEXT, ", and no ibv_modify_qp() to RTR followed");
	else if (rtr->time - noted->time <= noted->slack)
		snprintf(text, CAUSE_TEXT, " until %s, at about the same time",
			 event_id_text(rtr->id, id));
	else
		snprintf(text, CAUSE_TEXT, " until its ibv_modify_qp(RTR) %s, %s later",
			 event_id_text(rtr->id, id),
			 words_format_span(rtr->time - noted->time, when));
}

/* The peer was connected to another queue pair, and does not respond to this one. */
static void put_misconnected(struct noted_error *noted)
{
	bool early = noted->state == ABI_QPS_RESET || noted->state == ABI_QPS_INIT;
	bool told = noted->astray.rtr.id.thread;
	char until[CAUSE_TEXT] = "", other[CAUSE_TEXT] = "";

	if (early)
		name_rtr(noted, until);
	if (told && noted->astray.told != noted->astray.number)
		snprintf(other, sizeof(other), "%sits dest_qp_num is 0x%x, not 0x%x",
			 early ? "; then " : "", noted->astray.told, noted->astray.number);
	else if (!early)
		snprintf(other, sizeof(other),
			 "it was given dest_qp_num 0x%x at the address of another device",
			 noted->astray.told);
	if (early)
		cause_set_text(&noted->cause.peer, "in %s%s: it responds only from RTR on%s",
			       qp_state_name(noted->state), until, other);
	else
		cause_set_text(&noted->cause.peer, "%s", other);
}

/* Is the other end in a state in which it receives nothing? */
static bool is_not_receiving(const struct noted_error *noted)
{
	return noted->state == ABI_QPS_ERR || noted->state == 0 ||
	       (noted->state == ABI_QPS_INIT && noted->status == ABI_WC_RETRY_EXC_ERR);
}

/*
 * Was the peer still alive when the error was polled? Yes, if its process polled the error, ended
 * much later, or called a verb later and did not end. A process killed soon after the error may
 * have been stopped before it, whatever it did in between.
 */
static bool was_peer_alive(const struct causes *causes, const struct model *model,
			   const struct noted_error *noted)
{
	const struct process *process = trace_process(causes->trace, noted->cause.process);
	int64_t last = last_verb_time(model, noted->cause.process);

	if (noted->cause.process == noted->victim.process)
		return true;
	if (process && process->end >= 0)
		return process->end - NOTICE_NS - noted->slack >= noted->time;
	return last - noted->slack >= noted->time;
}

/* The program of the peer has not noticed whether its own send has failed. */
static void put_unpolled_send(struct noted_error *noted)
{
	char id[32];

	event_id_text(noted->unpolled_send, id);
	if (noted->unpolled_key)
		cause_set_text(&noted->cause.peer,
			       "its own send %s, whose completion was not polled, cannot succeed: "
			       "%s; a queue pair in ERR does not respond",
			       id, noted->unpolled_key);
	else
		cause_set_text(&noted->cause.peer,
			       "in %s by its calls, but the completion of its own send %s was not "
			       "polled: if that send failed, the queue pair is in ERR and does not "
			       "respond; else: %s",
			       qp_state_name(noted->state), id, noted->answer);
}

/* Nothing known about the peer explains why it did not respond. */
static void put_unexplained(const struct causes *causes, const struct model *model,
			    struct noted_error *noted)
{
	const struct process *process = trace_process(causes->trace, noted->cause.process);
	char last[32], end[32], what[CAUSE_TEXT];

	if (!noted->cause.process) {
		noted->cause.peer = noted->answer;
		noted->answer = NULL;
		return;
	}
	words_format_span(last_verb_time(model, noted->cause.process), last);
	if (noted->unpolled_send.thread) {
		put_unpolled_send(noted);
	} else if (was_peer_alive(causes, model, noted)) {
		cause_set_text(&noted->cause.peer, "in %s, so it could respond: %s",
			       qp_state_name(noted->state), noted->answer);
	} else if (process && process->end >= 0) {
		describe_exit(process, what);
		cause_set_text(
			&noted->cause.peer,
			"in %s; %s at %s, last verb at %s: it is unknown whether it could still "
			"respond",
			qp_state_name(noted->state), what, words_format_span(process->end, end),
			last);
	} else {
		cause_set_text(&noted->cause.peer,
			       "in %s at its last verb, at %s; if it was alive: %s",
			       qp_state_name(noted->state), last, noted->answer);
	}
}

/* ", 0.1 ms before the request was posted" */
static void describe_post_gap(const struct noted_error *noted, int64_t time, char text[CAUSE_TEXT])
{
	int64_t before = noted->posted_at - time;
	char when[32];

	text[0] = '\0';
	if (!noted->posted_at || noted->slack == INT64_MAX)
		return;
	if (before > noted->slack)
		snprintf(text, CAUSE_TEXT, ", %s before the request was posted",
			 words_format_span(before, when));
	else if (-before > noted->slack)
		snprintf(text, CAUSE_TEXT, ", while the request was outstanding");
}

static void put_destroyed(struct noted_error *noted)
{
	const struct moment *destroy = &noted->destroy;
	char id[32], when[32], post[CAUSE_TEXT];

	describe_post_gap(noted, destroy->time, post);
	cause_set_text(&noted->cause.peer, "its %s %s began %s earlier%s",
		       verb_infos[destroy->verb].name, event_id_text(destroy->id, id),
		       words_format_span(noted->time - destroy->time, when), post);
}

/*
 * The peer was not in RTR when the request was posted, nor during its retries. The error was polled
 * later.
 */
static bool put_late_rtr(struct noted_error *noted)
{
	const struct moment *rtr = &noted->rtr;
	char id[32], when[32], tried[32];
	int64_t late = rtr->time - noted->posted_at;

	if (noted->status != ABI_WC_RETRY_EXC_ERR || !rtr->id.thread || !noted->posted_at ||
	    !noted->tried || noted->slack == INT64_MAX || late - noted->slack < noted->tried)
		return false;
	cause_set_text(&noted->cause.peer,
		       "its ibv_modify_qp(RTR) %s came %s after the request was posted, which was "
		       "retried for %s: it responds only from RTR on",
		       event_id_text(rtr->id, id), words_format_span(late, when),
		       words_format_span(noted->tried, tried));
	return true;
}

/*
 * Errors of this end alone, and errors that the peer reported: not caused by the end of the peer.
 */
static bool is_answered(int status)
{
	static const int all[] = {
		ABI_WC_LOC_LEN_ERR, ABI_WC_LOC_QP_OP_ERR,   ABI_WC_LOC_PROT_ERR,
		ABI_WC_MW_BIND_ERR, ABI_WC_REM_INV_REQ_ERR, ABI_WC_REM_ACCESS_ERR
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] == status)
			return true;
	return false;
}

static void put_peer_sentence(const struct causes *causes, const struct model *model,
			      struct noted_error *noted, const struct first_error *own)
{
	const struct moment *destroy = &noted->destroy;
	char id[32], when[32];

	if (!noted->cause.process)
		return;
	if (is_answered(noted->status)) {
		put_failed(causes, noted, own);
		return;
	}
	if (put_killed(causes, model, noted))
		return;
	if (noted->disagree)
		cause_set_text(&noted->cause.peer, "%s", noted->disagree);
	else if (destroy->id.thread && destroy->time + noted->slack < noted->time)
		put_destroyed(noted);
	else if (noted->astray.handle)
		put_misconnected(noted);
	else if (noted->empty)
		put_receives(noted);
	else if (*noted->cq.name)
		put_overrun(noted);
	else if (!put_failed(causes, noted, own) && !put_late_rtr(noted) &&
		 noted->moved.id.thread && noted->moved.time + noted->slack < noted->time &&
		 is_not_receiving(noted))
		cause_set_text(&noted->cause.peer, "in %s since %s, %s earlier",
			       qp_state_name(noted->state), event_id_text(noted->moved.id, id),
			       words_format_span(noted->time - noted->moved.time, when));
}

void cause_describe_peer(const struct causes *causes, const struct model *model,
			 struct noted_error *noted, const struct first_error *own)
{
	if (noted->nowhere) {
		noted->cause.peer = noted->nowhere;
		noted->nowhere = NULL;
		return;
	}
	put_peer_sentence(causes, model, noted, own);
	if (!noted->cause.peer && noted->answer)
		put_unexplained(causes, model, noted);
}
