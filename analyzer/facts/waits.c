/*
 * What a process that was killed from outside, or gave up, had been waiting for
 *
 * A user who ends a program that hangs wants to know what it was waiting for: the oldest send that
 * has not completed; or, if there is none, the receives of a queue pair for which nothing came
 * since its last verb; and the state of the other end, from which a message should have come.
 *
 * The state of the process itself is reported whatever the other end shows: that a message has
 * arrived does not prove that its completion has, so the receives are reported as well.
 */
#include "analyzer/facts/waits.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyzer/facts/sent.h"
#include "analyzer/model/model.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"
#include "core/base/text.h"
#include "core/base/vec.h"
#include "core/wire/log.h"

enum { PATIENCE_NS = 250000000, TEXT = 128, GRH = 40 /* bytes of a datagram's buffer */ };

struct wait {
	size_t fact;
	int64_t end;                 /* of the process */
	int64_t since;               /* nothing has completed */
	struct queue_request oldest; /* a send; if .thread is 0, it waits for receives */
	char queue[LIFE_NAME];
	uint64_t outstanding, completed; /* of that queue */
	uint32_t process, qp;            /* the other end; 0: not known */
	int64_t gone;                    /* time of its end; INT64_MAX: it existed */
	bool failed;                     /* it was in IBV_QPS_ERR, */
	struct moment moved;             /* since then */
	bool arrived;                    /* its completion shows that it has arrived */
	struct peer_work work;
	uint32_t number; /* of the queue pair, if UC or UD and the number is unique; or 0 */
	bool datagrams;
	uint64_t room; /* bytes of the oldest receive */
};

struct waits {
	struct trace *trace;
	struct fact_list *facts;
	struct wait *all;
	size_t n;
	struct wait *before; /* by process: what it waited for until it destroyed a queue pair; */
	size_t nbefore;      /* .end is 0: nothing */
	struct sent sent;
};

int waits_new(struct trace *trace, struct fact_list *facts, struct waits **ret_waits)
{
	struct waits *waits = calloc(1, sizeof(*waits));

	if (!waits)
		return log_err(-ENOMEM, "the waits of killed processes");
	waits->trace = trace;
	waits->facts = facts;
	*ret_waits = waits;
	return 0;
}

void waits_free(struct waits *waits)
{
	if (waits) {
		sent_fini(&waits->sent);
		free(waits->all);
		free(waits->before);
	}
	free(waits);
}

void waits_post(struct waits *waits, struct model *model, const struct trace_event *event)
{
	sent_post(&waits->sent, model, event);
}

void waits_changed(struct waits *waits)
{
	sent_changed(&waits->sent);
}

/* A user or another program ended it; a process that has crashed waited for nothing. */
static bool is_sent_from_outside(int signal)
{
	static const int signals[] = { 0, SIGTERM, SIGINT, SIGKILL, SIGHUP, SIGQUIT, SIGALRM };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (signals[i] == signal)
			return true;
	return false;
}

/* The requests that are outstanding. */
struct found {
	const struct queue *sends, *receives;
	const struct queue_request *oldest;
};

/* Before RTR no message can arrive for its receives. */
static bool is_open(const struct life *life)
{
	int state = life->kind == OBJECT_qp ? qp_state(life) : QP_UNKNOWN;

	return state != ABI_QPS_RESET && state != ABI_QPS_INIT;
}

static bool look_at_request(void *arg, const struct queue *queue,
			    const struct queue_request *request)
{
	struct found *found = arg;

	if (queue->doubt || !is_open(queue->owner))
		return false;
	if (!queue->send) {
		if (!found->receives || (queue->owner->kind == OBJECT_qp && queue->owner->peer &&
					 !found->receives->owner->peer))
			found->receives = queue;
	} else if (request->signalled && (!found->oldest || request->time < found->oldest->time)) {
		found->sends = queue;
		found->oldest = request;
	}
	return false;
}

static struct peer_work work_of(const struct peer *peer)
{
	if (!peer)
		return (struct peer_work){ .known = false };
	return peer->life ? queues_work(peer->life) : peer->left;
}

static const struct peer *other_end(struct model *model, const struct life *qp)
{
	return qp->peer ? peer_other(model_peers(model), qp->peer) : NULL;
}

/*
 * The largest possible ordinal of the request among all, from 1: those that a RESET removed count.
 */
static uint64_t find_ordinal(const struct queue *queue, const struct queue_request *request)
{
	uint32_t behind = 0;

	while (behind < queue->count && queue_at(queue, queue->count - 1 - behind) != request)
		behind++;
	return queue->posted - behind;
}

/* The peer has received it: messages are received in the order of the posts. */
static bool has_arrived(struct model *model, const struct found *found)
{
	struct peer_work work = work_of(other_end(model, found->sends->owner));

	return work.known && queue_takes_receive(found->oldest->opcode) &&
	       work.received >= find_ordinal(found->sends, found->oldest);
}

static void note_peer(struct wait *wait, struct model *model, const struct life *qp)
{
	const struct peer *peer = other_end(model, qp);

	if (!peer)
		return;
	wait->process = peer->process;
	wait->qp = peer->id;
	wait->gone = peer->gone;
	wait->work = work_of(peer);
	wait->failed = peer->life && qp_state(peer->life) == ABI_QPS_ERR;
	if (wait->failed)
		wait->moved = peer->life->qp->moved;
}

/* A message that does not fit may be sent, and neither end is notified. */
static void note_room(struct wait *wait, struct model *model, const struct queue *queue)
{
	const struct life *qp = queue->owner;
	const struct queue_request *oldest = queue_oldest(queue);

	if (!qp->qp || (qp->qp->type != ABI_QPT_UD && qp->qp->type != ABI_QPT_UC) || !qp->peer ||
	    !peer_is_only(model_peers(model), qp->peer))
		return;
	wait->number = qp->peer->number;
	wait->datagrams = qp->qp->type == ABI_QPT_UD;
	for (uint32_t i = 0; oldest && i < oldest->nsge; i++)
		wait->room += queue_sge(queue, oldest, i)->length;
}

/* @oldest is NULL: receives. */
static void fill_wait(struct wait *wait, struct model *model, const struct wait *like,
		      const struct queue *queue, const struct queue_request *oldest)
{
	*wait = *like;
	wait->outstanding = queue->outstanding;
	wait->completed = queue->completed;
	if (oldest)
		wait->oldest = *oldest;
	else
		note_room(wait, model, queue);
	snprintf(wait->queue, sizeof(wait->queue), "%s", queue->owner->name);
	note_peer(wait, model, queue->owner);
}

static struct wait *add_wait(struct waits *waits, struct model *model, const struct wait *like,
			     const struct queue *queue, const struct queue_request *oldest)
{
	struct wait *wait = vec_push(waits->all, waits->n);

	if (wait)
		fill_wait(wait, model, like, queue, oldest);
	return wait;
}

/* Is there a request that the process waited for until @end? @found is set to it. */
static bool find_late(struct model *model, uint32_t process, int64_t end, int64_t since,
		      struct found *found)
{
	queues_each(model, process, look_at_request, found);
	return found->sends ? end - found->oldest->time >= PATIENCE_NS
			    : found->receives && end - since >= PATIENCE_NS;
}

void waits_destroy(struct waits *waits, struct model *model, const struct trace_event *event,
		   int64_t since)
{
	const struct wait like = { .end = event->time, .since = since, .gone = INT64_MAX };
	struct found found = { 0 };

	if (!find_late(model, event->process, event->time, since, &found))
		return;
	while (waits->nbefore <= event->process)
		if (!vec_push(waits->before, waits->nbefore))
			return;
	fill_wait(&waits->before[event->process], model, &like, found.sends ?: found.receives,
		  found.oldest);
}

/* It has given up what it waited for in order, and then ended. */
static bool take_before(struct waits *waits, const struct model_exit *end, size_t fact)
{
	struct wait *wait,
		*before = end->process < waits->nbefore ? &waits->before[end->process] : NULL;

	if (!before || !before->end || !(wait = vec_push(waits->all, waits->n)))
		return false;
	*wait = *before;
	wait->fact = fact;
	return true;
}

bool waits_note(struct waits *waits, struct model *model, const struct model_exit *end, size_t fact,
		int64_t since)
{
	const struct fact *killed = &waits->facts->all[fact];
	const struct wait like = {
		.fact = fact, .end = end->time, .since = since, .gone = INT64_MAX
	};
	struct found found = { 0 };
	bool idle = end->time - since >= PATIENCE_NS;
	struct wait *wait;

	if (killed->kind == FACT_KILLED && !is_sent_from_outside(killed->error))
		return true;
	if (!find_late(model, end->process, end->time, since, &found))
		return take_before(waits, end, fact);
	wait = add_wait(waits, model, &like, found.sends ?: found.receives, found.oldest);
	if (!wait || !found.sends || !has_arrived(model, &found))
		return true;
	wait->arrived = true;
	if (found.receives && idle)
		add_wait(waits, model, &like, found.receives, NULL);
	return true;
}

static void put_waited_for(struct text *t, const struct wait *wait)
{
	const struct enum_info *opcodes = enum_find("ibv_wr_opcode");
	const char *opcode = enum_name(opcodes, wait->oldest.opcode);
	char id[32], when[32], n[WORDS_COUNT];

	text_addf(t, "%s of %s outstanding",
		  words_count(wait->outstanding, wait->oldest.thread ? "send" : "receive", n),
		  wait->queue);
	if (wait->oldest.thread)
		text_addf(t, ", the oldest, %s %s, for %s", opcode ?: "one",
			  event_id_text(queue_id(&wait->oldest), id),
			  words_span(wait->end - wait->oldest.time, when));
	else
		text_addf(t, ", no completion polled for %s",
			  words_span(wait->end - wait->since, when));
}

/* Its process ended long enough before. */
static bool put_ended(struct text *t, const struct waits *waits, const struct wait *wait)
{
	const struct process *process = trace_process(waits->trace, wait->process);
	const char *signal = NULL;
	char when[32];

	if (!process || process->end < 0 || process->end > wait->end - PATIENCE_NS)
		return false;
	words_span(process->end, when);
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

/* A WRITE is no message: the end that it goes to is not told. */
static void put_sends(struct text *t, const struct wait *wait)
{
	const struct peer_work *work = &wait->work;
	char n[WORDS_COUNT];

	text_addf(t, "%s%s", t->used ? ", " : "",
		  words_count(work->sends - work->writes, "send", n));
	if (work->writes)
		text_addf(t, " and %s", words_count(work->writes, "RDMA WRITE", n));
	text_addf(t, " posted by the peer, %" PRIu64 " received by this one", wait->completed);
	if (work->writes)
		text_addf(t, " (a WRITE has no completion at this end, IBV_WR_RDMA_WRITE_WITH_IMM "
			     "has)");
}

/* What the other end has done of what is waited for. */
static void put_work(struct text *t, const struct wait *wait)
{
	const struct peer_work *work = &wait->work;

	if (!work->known)
		return;
	if (!wait->oldest.thread)
		put_sends(t, wait);
	else if (wait->arrived)
		text_addf(t, "%sit had received these", t->used ? ", " : "");
	else if (queue_takes_receive(wait->oldest.opcode) && !work->room && work->receives)
		text_addf(t, "%sits %" PRIu64 " receives were consumed", t->used ? ", " : "",
			  work->receives);
	else if (queue_takes_receive(wait->oldest.opcode) && !work->room)
		text_addf(t, "%sit had never posted a receive", t->used ? ", " : "");
}

static void put_peer(struct text *t, const struct waits *waits, const struct wait *wait)
{
	const struct object *qp = trace_object(waits->trace, wait->qp);
	struct text why = { 0 };
	char name[TEXT], when[32], id[32];

	text_addf(t, "; peer %s %s", words_process(waits->trace, wait->process, name, sizeof(name)),
		  qp && qp->name ? qp->name : "queue pair");
	if (put_ended(&why, waits, wait))
		;
	else if (qp && qp->destroyed.thread && qp->destroyed_at < wait->end)
		text_addf(&why, "destroyed by %s at %s", event_id_text(qp->destroyed, id),
			  words_span(qp->destroyed_at, when));
	else if (wait->failed)
		text_addf(&why, "in ERR since %s", event_id_text(wait->moved.id, id));
	put_work(&why, wait);
	if (why.used)
		text_addf(t, ": %s", why.at);
	text_fini(&why);
}

/* Messages that arrived at a queue pair that cannot refuse them, and did not fit. */
static void put_sent(struct text *t, const struct waits *waits, const struct wait *wait)
{
	const struct sent_to *to = sent_find(&waits->sent, wait->number);
	const struct object *qp = to ? trace_object(waits->trace, to->qp) : NULL;
	uint64_t bytes = to ? to->bytes + (wait->datagrams ? GRH : 0) : 0;
	char name[TEXT], n[WORDS_COUNT];

	if (!to && wait->datagrams)
		text_addf(t, "; no process in this trace has sent to it");
	if (!to || (!wait->datagrams && bytes <= wait->room))
		return;
	if (wait->datagrams)
		text_addf(t, "; %s %s has sent it %s, %" PRIu64 " received",
			  words_process(waits->trace, to->process, name, sizeof(name)),
			  qp && qp->name ? qp->name : "queue pair",
			  words_count(to->messages, "datagram", n), wait->completed);
	if (bytes <= wait->room)
		return;
	text_addf(t, "; the last, of %" PRIu64 " bytes%s, did not fit: the receives have %" PRIu64,
		  to->bytes, wait->datagrams ? " and the 40 of the GRH" : "", wait->room);
}

static void put_wait(struct text *t, const struct waits *waits, const struct wait *wait)
{
	put_waited_for(t, wait);
	if (wait->process)
		put_peer(t, waits, wait);
	if (wait->number)
		put_sent(t, waits, wait);
}

/* The waits of one process are consecutive. */
void waits_finish(struct waits *waits)
{
	for (size_t i = 0; i < waits->n;) {
		size_t fact = waits->all[i].fact;
		struct fact *killed = &waits->facts->all[fact];
		struct text t = { 0 };

		for (; i < waits->n && waits->all[i].fact == fact; i++) {
			text_addf(&t, "%s", t.used ? "; " : "");
			put_wait(&t, waits, &waits->all[i]);
		}
		if (!t.failed && t.used && !killed->because)
			killed->because = strdup(t.at);
		text_fini(&t);
	}
}
