/*
 * What a step must wait for
 *
 * For each queue it is known which step used it last: the steps that use one queue are a chain, so
 * the last of them stands for all. Edges, beyond the order within a thread:
 *
 *	post       <- the last post to its queue, and the polls that made room in it
 *	send       <- the receive that it takes (receives.h), or the last one posted where it goes;
 *	              and the last arming of the completion queues at both ends; for a datagram's
 *	              sake receives wait for sends, too
 *	poll       <- the last poll or arming of its completion queue
 *	completion event           <- the last poll or arming of that queue
 *	asynchronous event         <- all that came before
 *	any        <- the last control verb that changes something
 *	destroy, modify, query, the end of a process   <- all that came before
 *
 * A send to an address that is not known waits for all that came before. So does one that reads
 * or writes the memory of another process, if its contents are compared.
 */
#include "replay/score/score.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "replay/score/receives.h"

enum { FREED = 3 };

struct queue {
	struct mark posted[2]; /* by side: sends, receives */
	struct mark freed[2][FREED];
	struct mark sent;   /* a message to an unreliable receive queue */
	struct mark polled; /* CQ: or armed */
	struct mark armed;  /* CQ */
};

struct score {
	const struct relations *relations;
	struct queue *queues;      /* by object */
	struct receives *receives; /* NULL: messages wait for all that were posted before */
	uint64_t *known;           /* by player, of each: steps that it has waited for */
	uint32_t nobjects, players;
	bool contents;
	uint64_t seq;
	struct mark control;
	bool any_armed;
};

static void add_wait(struct step *step, struct mark on)
{
	if (!on.seq || on.player == step->player)
		return;
	for (uint32_t i = 0; i < step->nwaits; i++)
		if (step->waits[i].player == on.player) {
			if (step->waits[i].seq < on.seq)
				step->waits[i].seq = on.seq;
			return;
		}
	if (step->nwaits == STEP_WAITS || on.player == EVERY_PLAYER) {
		step->nwaits = 1;
		step->waits[0] = (struct wait){ EVERY_PLAYER, step->seq - 1 };
	} else if (!step->nwaits || step->waits[0].player != EVERY_PLAYER) {
		step->waits[step->nwaits++] = (struct wait){ on.player, on.seq };
	}
}

static void wait_for_all(struct step *step)
{
	add_wait(step, (struct mark){ EVERY_PLAYER, step->seq - 1 });
}

static uint32_t player_of(const struct score *score, struct event_id event)
{
	return event.thread ? 1 + (event.thread - 1) % score->players : 1;
}

static struct mark mark_of(const struct step *step)
{
	return (struct mark){ step->player, step->seq };
}

static struct queue *queue_of(struct score *score, uint32_t object)
{
	return object && object < score->nobjects ? &score->queues[object] : NULL;
}

/* One more in a chain. */
static void follow_mark(struct step *step, struct mark *last)
{
	add_wait(step, *last);
	*last = mark_of(step);
}

/* A player's latest; if there are too many players, the latest of all stands for all. */
static void note_freed(const struct step *step, struct mark freed[FREED])
{
	int i = 0;

	while (i < FREED - 1 && freed[i].seq && freed[i].player != step->player)
		i++;
	if (freed[i].seq && freed[i].player != step->player)
		freed[i] = (struct mark){ EVERY_PLAYER, step->seq };
	else
		freed[i] = mark_of(step);
}

static void wait_for_freed(struct step *step, const struct mark freed[FREED])
{
	for (int i = 0; i < FREED; i++)
		add_wait(step, freed[i]);
}

static void wait_for_armed(struct score *score, struct step *step, uint32_t cq)
{
	struct queue *queue = queue_of(score, cq);

	if (queue)
		add_wait(step, queue->armed);
}

/* For that which it takes, if this is known; else for all that it found there. */
static void wait_for_receive(struct score *score, struct step *step, const struct queue *receives)
{
	struct mark mark;

	if (score->receives &&
	    receives_find(score->receives, step->event.event->post->object, &mark))
		add_wait(step, mark);
	else
		add_wait(step, receives->posted[1]);
}

/* What is sent to @qp must find what it found there. */
static void send_to(struct score *score, struct step *step, uint32_t qp)
{
	const struct relation *to = relation_of(score->relations, qp);
	struct queue *receives = queue_of(score, to->receives);

	if (!receives) {
		wait_for_all(step);
		return;
	}
	wait_for_receive(score, step, receives);
	if (to->unreliable)
		follow_mark(step, &receives->sent);
	if (score->any_armed)
		wait_for_armed(score, step, to->recv_cq);
}

static bool is_remote(const struct wr *wr)
{
	return wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM &&
	       wr->opcode != IBV_WR_SEND_WITH_INV;
}

static void score_sends(struct score *score, struct step *step, const struct post *post)
{
	const struct relation *of = relation_of(score->relations, post->object);
	bool datagrams = of->unreliable && !of->peer;

	if (score->any_armed)
		wait_for_armed(score, step, of->send_cq);
	if (of->peer)
		send_to(score, step, of->peer);
	for (uint32_t i = 0; i < post->nwr; i++) {
		const struct wr *wr = &post->wr[i];

		if (datagrams)
			send_to(score, step,
				relations_datagram(score->relations, step->event.event,
						   wr->remote_qpn));
		else if (!of->peer || (score->contents && is_remote(wr)))
			wait_for_all(step);
	}
}

static void score_post(struct score *score, struct step *step, const struct post *post)
{
	unsigned int side = !post_is_send(post);
	struct queue *queue = queue_of(score, post->object);

	if (!queue) {
		wait_for_all(step);
		return;
	}
	if (score->receives)
		receives_note(score->receives, post, mark_of(step));
	follow_mark(step, &queue->posted[side]);
	wait_for_freed(step, queue->freed[side]);
	if (side)
		add_wait(step, queue->sent);
	else
		score_sends(score, step, post);
}

/* Its request is there, if another thread has posted it. */
static void wait_for_request(struct score *score, struct step *step, const struct wc *wc)
{
	struct queue *sends = queue_of(score, wc->qp);
	struct queue *receives = queue_of(score, relation_of(score->relations, wc->qp)->receives);

	if (!wc->request.thread || player_of(score, wc->request) == step->player)
		return;
	if (sends && (wc->status || !(wc->opcode & IBV_WC_RECV)))
		add_wait(step, sends->posted[0]);
	if (receives && (wc->status || wc->opcode & IBV_WC_RECV))
		add_wait(step, receives->posted[1]);
}

static void score_poll(struct score *score, struct step *step, const struct poll *poll)
{
	struct queue *cq = queue_of(score, poll->object);

	if (!cq)
		wait_for_all(step);
	else
		follow_mark(step, &cq->polled);
	for (uint32_t i = 0; i < poll->nwc; i++) {
		const struct relation *of = relation_of(score->relations, poll->wc[i].qp);
		struct queue *sends = queue_of(score, poll->wc[i].qp);
		struct queue *receives = queue_of(score, of->receives);

		wait_for_request(score, step, &poll->wc[i]);
		if (poll->wc[i].status && score->receives)
			receives_lose(score->receives, poll->wc[i].qp);
		/* an error does not tell its side */
		if (sends && (poll->wc[i].status || !(poll->wc[i].opcode & IBV_WC_RECV)))
			note_freed(step, sends->freed[0]);
		if (receives && (poll->wc[i].status || poll->wc[i].opcode & IBV_WC_RECV))
			note_freed(step, receives->freed[1]);
	}
}

static void score_notify(struct score *score, struct step *step, uint32_t object)
{
	struct queue *cq = queue_of(score, object);

	if (!cq)
		return;
	follow_mark(step, &cq->polled);
	cq->armed = mark_of(step);
	score->any_armed = true;
}

/* What a made peer sends before it comes behind what it sent before those polls. */
static void score_event(struct score *score, struct step *step)
{
	const struct trace_event *event = step->event.event;
	struct queue *cq = NULL;

	if (event->call->failed)
		return;
	if (event->call->verb == VERB_get_cq_event)
		cq = queue_of(score, relations_event_queue(score->relations, event));
	if (cq)
		add_wait(step, cq->polled);
	else
		wait_for_all(step);
}

/* A creation changes nothing that another thread uses, before it is there. */
static void score_call(struct score *score, struct step *step, const struct call *call)
{
	enum verb_effect effect = verb_infos[call->verb].effect;

	/* rdma_get_cm_event() brings identifiers, and answers */
	if (effect == EFFECT_GET && call->verb != VERB_rdma_get_cm_event) {
		score_event(score, step);
		return;
	}
	if (effect == EFFECT_ACK)
		return;
	if (score->receives && relation_of(score->relations, call->object)->stopped)
		receives_lose(score->receives, call->object);
	if (effect != EFFECT_CREATE && effect != EFFECT_GET)
		wait_for_all(step);
	score->control = mark_of(step);
}

/* Where a player has waited before it need not again: what is done stays done. */
static void drop_known(struct score *score, struct step *step)
{
	uint64_t *known = &score->known[(uint64_t)step->player * (score->players + 1)];
	uint32_t n = 0;

	for (uint32_t i = 0; i < step->nwaits; i++) {
		const struct wait *wait = &step->waits[i];

		if (wait->seq <= known[wait->player] || wait->seq <= known[EVERY_PLAYER])
			continue;
		known[wait->player] = wait->seq;
		step->waits[n++] = *wait;
	}
	step->nwaits = n;
}

void score_step(struct score *score, const struct ordered *ordered, struct step *step)
{
	const struct trace_event *event = ordered->event;

	*step = (struct step){
		.event = *ordered,
		.seq = ++score->seq,
		.player = player_of(score, event->id),
	};
	add_wait(step, score->control);
	switch (event->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		score_call(score, step, event->call);
		break;
	case TRACE_POST:
		score_post(score, step, event->post);
		break;
	case TRACE_POLL:
		score_poll(score, step, event->poll);
		break;
	case TRACE_NOTIFY:
		score_notify(score, step, event->notify->object);
		break;
	case TRACE_FORK:
	case TRACE_EXIT:
		wait_for_all(step);
		score->control = mark_of(step);
		break;
	default:
		break;
	}
	drop_known(score, step);
}

int score_new(const struct relations *relations, uint32_t nobjects, uint32_t players,
	      struct scoring how, struct score **ret_score)
{
	struct score *score = calloc(1, sizeof(*score));

	if (!score)
		return -ENOMEM;
	score->relations = relations;
	score->nobjects = nobjects;
	score->players = players;
	score->contents = how.contents;
	score->queues = calloc(nobjects, sizeof(*score->queues));
	score->known = calloc((players + 1ul) * (players + 1ul), sizeof(*score->known));
	if (!score->queues || !score->known ||
	    (how.counts && receives_new(relations, nobjects, &score->receives))) {
		score_free(score);
		return -ENOMEM;
	}
	*ret_score = score;
	return 0;
}

void score_free(struct score *score)
{
	if (!score)
		return;
	receives_free(score->receives);
	free(score->known);
	free(score->queues);
	free(score);
}
