/*
 * What a step must wait for
 *
 * For each queue the last step that used it is stored: the steps of one queue form a chain, so the
 * last one represents all. Edges, in addition to the order within a thread:
 *
 *	post       <- the last post to its queue, and the polls that freed entries of it
 *	send       <- the receive that it consumes (receives.h), or the last one of its destination;
 *	              and the last arming of the completion queues at both ends; because of
 *	              datagrams, receives wait for sends, too
 *	write, read, atomic        <- the last bind or invalidation of a window at its peer, and
 *	              its completion; a bind or invalidation <- the sends of the peer before it
 *	poll       <- the last poll or arming of its completion queue
 *	completion event           <- the last poll or arming of that queue
 *	asynchronous event         <- all earlier steps
 *	any        <- the last control verb that changes something, or the last request that
 *	              failed, and the poll that showed it
 *	a request that fails       <- all earlier steps, since it stops queue pairs
 *	destroy, modify, query, the end of a process   <- all earlier steps
 *
 * Verbs on queue pairs, completion queues and regions order only players that have objects in
 * common (groups.h): a program of many threads, each with its own, would otherwise be played by one
 * thread at a time.
 *
 * A send to an unknown address waits for all earlier steps. So does one that reads or writes the
 * memory of another process, if contents are compared; and so does an event before which a
 * synthesized peer lets a queue pair fail.
 */
#include "replay/schedule/schedule.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "core/model/operation.h"
#include "replay/schedule/groups.h"
#include "replay/schedule/receives.h"
#include "replay/schedule/uses.h"

enum { FREED = 3 };

struct queue_marks {
	struct mark posted[2]; /* by side: sends, receives */
	struct mark freed[2][FREED];
	struct mark sent; /* the last message to an unreliable receive queue */
	/* the last bind or invalidation of a memory window, and the last poll that completed one */
	struct mark bound, bound_polled;
	struct mark polled; /* CQ: the last poll or arming */
	struct mark armed;  /* CQ */
};

struct schedule {
	const struct relations *relations;
	struct queue_marks *queues; /* by object */
	struct receives *receives;  /* NULL: messages wait for all receives posted before */
	struct groups *groups;      /* NULL: all players are one */
	struct mark *group_control; /* by group: like `control` */
	uint64_t *last;             /* by player: its last step */
	uint64_t *known;            /* by player: for each player, steps it has waited for */
	uint32_t nobjects, players;
	struct schedule_options how;
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

/* Are some players independent of each other? */
static bool has_groups(const struct schedule *schedule)
{
	return schedule->groups && groups_count(schedule->groups) > 1;
}

/* Wait for all earlier steps of the player's group. */
static void wait_for_group(const struct schedule *schedule, struct step *step)
{
	uint32_t group;

	if (!has_groups(schedule)) {
		wait_for_all(step);
		return;
	}
	group = groups_of(schedule->groups, step->player);
	for (uint32_t i = 1; i <= schedule->players; i++)
		if (groups_of(schedule->groups, i) == group)
			add_wait(step, (struct mark){ i, schedule->last[i] });
}

static uint32_t player_of(const struct schedule *schedule, struct event_id event)
{
	return event.thread ? 1 + (event.thread - 1) % schedule->players : 1;
}

static struct mark mark_of(const struct step *step)
{
	return (struct mark){ step->player, step->seq };
}

static struct queue_marks *queue_of(struct schedule *schedule, uint32_t object)
{
	return object && object < schedule->nobjects ? &schedule->queues[object] : NULL;
}

/* Add a step to a chain: it waits for @last, and becomes the last. */
static void add_to_chain(struct step *step, struct mark *last)
{
	add_wait(step, *last);
	*last = mark_of(step);
}

/* Note a step that freed entries: one for each player; with too many players, one for all. */
static void note_freeing_step(const struct step *step, struct mark freed[FREED])
{
	int i = 0;

	while (i < FREED - 1 && freed[i].seq && freed[i].player != step->player)
		i++;
	if (freed[i].seq && freed[i].player != step->player)
		freed[i] = (struct mark){ EVERY_PLAYER, step->seq };
	else
		freed[i] = mark_of(step);
}

static void wait_for_freeing(struct step *step, const struct mark freed[FREED])
{
	for (int i = 0; i < FREED; i++)
		add_wait(step, freed[i]);
}

static void wait_for_armed(struct schedule *schedule, struct step *step, uint32_t cq)
{
	struct queue_marks *queue = queue_of(schedule, cq);

	if (queue)
		add_wait(step, queue->armed);
}

/*
 * Wait for the receive that the message consumes, if known; else for all earlier ones at its
 * destination.
 */
static void wait_for_receive(struct schedule *schedule, struct step *step,
			     const struct queue_marks *receives)
{
	struct mark mark;

	if (schedule->receives &&
	    receives_find(schedule->receives, step->event.event->post->object, &mark))
		add_wait(step, mark);
	else
		add_wait(step, receives->posted[1]);
}

/* A message to @qp waits for the receives and arming that preceded it in the recording. */
static void schedule_message(struct schedule *schedule, struct step *step, uint32_t qp)
{
	const struct relation *to = relation_of(schedule->relations, qp);
	struct queue_marks *receives = queue_of(schedule, to->receives);

	if (!receives) {
		wait_for_all(step);
		return;
	}
	wait_for_receive(schedule, step, receives);
	if (to->unreliable)
		add_to_chain(step, &receives->sent);
	if (schedule->any_armed)
		wait_for_armed(schedule, step, to->recv_cq);
}

static bool is_remote(const struct wr *wr)
{
	return wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM &&
	       wr->opcode != IBV_WR_SEND_WITH_INV;
}

static bool changes_window(const struct wr *wr)
{
	return wr->opcode == IBV_WR_BIND_MW || wr->opcode == IBV_WR_LOCAL_INV;
}

/* A window of type 2 is changed by requests, and used only by the peer of its queue pair. */
static void schedule_window(struct schedule *schedule, struct step *step, const struct wr *wr,
			    struct queue_marks *queue, uint32_t peer)
{
	const struct queue_marks *other = queue_of(schedule, peer);

	if (changes_window(wr)) {
		queue->bound = mark_of(step);
		if (other) {
			add_wait(step, other->posted[0]);
			wait_for_freeing(step, other->freed[0]);
		}
	} else if (other && operation_has_rkey(wr->opcode)) {
		add_wait(step, other->bound);
		add_wait(step, other->bound_polled);
	}
}

static void schedule_sends(struct schedule *schedule, struct step *step, const struct post *post,
			   struct queue_marks *queue)
{
	const struct relation *of = relation_of(schedule->relations, post->object);
	bool datagrams = of->unreliable && !of->peer;

	if (schedule->any_armed)
		wait_for_armed(schedule, step, of->send_cq);
	if (of->peer)
		schedule_message(schedule, step, of->peer);
	for (uint32_t i = 0; i < post->nwr; i++) {
		const struct wr *wr = &post->wr[i];

		schedule_window(schedule, step, wr, queue, of->peer);
		if (datagrams)
			schedule_message(schedule, step,
					 relations_find_datagram_qp(schedule->relations,
								    step->event.event,
								    wr->remote_qpn));
		else if (!of->peer || (schedule->how.contents && is_remote(wr)))
			wait_for_all(step);
	}
}

/* The step stops a queue pair, like a control verb. */
static void schedule_stop(struct schedule *schedule, struct step *step)
{
	wait_for_all(step);
	schedule->control = mark_of(step);
}

static void schedule_post(struct schedule *schedule, struct step *step, const struct post *post)
{
	unsigned int side = !post_is_send(post);
	struct queue_marks *queue = queue_of(schedule, post->object);

	if (!queue) {
		wait_for_all(step);
		return;
	}
	if (schedule->receives)
		receives_note(schedule->receives, post, mark_of(step));
	add_to_chain(step, &queue->posted[side]);
	wait_for_freeing(step, queue->freed[side]);
	if (side)
		add_wait(step, queue->sent);
	else
		schedule_sends(schedule, step, post, queue);
	if (step->event.stops)
		schedule_stop(schedule, step);
}

/* Wait for the post of its request, if another thread has posted it. */
static void wait_for_request(struct schedule *schedule, struct step *step, const struct wc *wc)
{
	struct queue_marks *sends = queue_of(schedule, wc->qp);
	struct queue_marks *receives =
		queue_of(schedule, relation_of(schedule->relations, wc->qp)->receives);

	if (!wc->request.thread || player_of(schedule, wc->request) == step->player)
		return;
	if (sends && (wc->status || !(wc->opcode & IBV_WC_RECV)))
		add_wait(step, sends->posted[0]);
	if (receives && (wc->status || wc->opcode & IBV_WC_RECV))
		add_wait(step, receives->posted[1]);
}

static bool has_changed_window(const struct wc *wc)
{
	return !wc->status && (wc->opcode == IBV_WC_BIND_MW || wc->opcode == IBV_WC_LOCAL_INV);
}

static void schedule_poll(struct schedule *schedule, struct step *step, const struct poll *poll)
{
	struct queue_marks *cq = queue_of(schedule, poll->object);

	if (!cq)
		wait_for_all(step);
	else
		add_to_chain(step, &cq->polled);
	for (uint32_t i = 0; i < poll->nwc; i++) {
		const struct relation *of = relation_of(schedule->relations, poll->wc[i].qp);
		struct queue_marks *sends = queue_of(schedule, poll->wc[i].qp);
		struct queue_marks *receives = queue_of(schedule, of->receives);

		wait_for_request(schedule, step, &poll->wc[i]);
		if (sends && has_changed_window(&poll->wc[i]))
			sends->bound_polled = mark_of(step);
		if (poll->wc[i].status && schedule->receives)
			receives_mark_uneven(schedule->receives, poll->wc[i].qp);
		if (poll->wc[i].status && poll->wc[i].status != IBV_WC_WR_FLUSH_ERR)
			schedule->control = mark_of(step);
		/* an error does not show the side */
		if (sends && (poll->wc[i].status || !(poll->wc[i].opcode & IBV_WC_RECV)))
			note_freeing_step(step, sends->freed[0]);
		if (receives && (poll->wc[i].status || poll->wc[i].opcode & IBV_WC_RECV))
			note_freeing_step(step, receives->freed[1]);
	}
}

static void schedule_notify(struct schedule *schedule, struct step *step, uint32_t object)
{
	struct queue_marks *cq = queue_of(schedule, object);

	if (!cq)
		return;
	add_to_chain(step, &cq->polled);
	cq->armed = mark_of(step);
	schedule->any_armed = true;
}

/* A synthesized peer sends before this event: wait for the events before which it sent earlier. */
static void schedule_event(struct schedule *schedule, struct step *step)
{
	const struct trace_event *event = step->event.event;
	struct queue_marks *cq = NULL;

	if (event->call->failed)
		return;
	if (event->call->verb == VERB_get_cq_event)
		cq = queue_of(schedule, relations_find_event_queue(schedule->relations, event));
	if (cq)
		add_wait(step, cq->polled);
	else
		wait_for_all(step);
}

/*
 * Note which objects the step uses. If that connects its group with another, it waits for all of
 * both, and both wait for it.
 */
static void schedule_groups(struct schedule *schedule, struct step *step)
{
	uint32_t count = groups_count(schedule->groups), group;

	uses_note(schedule->groups, schedule->relations, step->event.event, step->player);
	group = groups_of(schedule->groups, step->player);
	if (groups_count(schedule->groups) == count) {
		add_wait(step, schedule->group_control[group]);
		return;
	}
	wait_for_group(schedule, step);
	if (has_groups(schedule))
		schedule->group_control[group] = mark_of(step);
	else
		schedule->control = mark_of(step);
}

/* A control verb that changes something: later steps wait for it. */
static void note_control(struct schedule *schedule, const struct step *step,
			 const struct call *call)
{
	if (has_groups(schedule) && uses_is_local(call))
		schedule->group_control[groups_of(schedule->groups, step->player)] = mark_of(step);
	else
		schedule->control = mark_of(step);
}

/* Add the waits of a call. A creation needs none: no event uses the object before it exists. */
static void schedule_call(struct schedule *schedule, struct step *step, const struct call *call)
{
	enum verb_effect effect = verb_infos[call->verb].effect;

	/* rdma_get_cm_event() creates identifiers, and sends replies */
	if (effect == EFFECT_GET && call->verb != VERB_rdma_get_cm_event) {
		schedule_event(schedule, step);
		return;
	}
	if (effect == EFFECT_ACK)
		return;
	if (schedule->receives && relation_of(schedule->relations, call->object)->stopped)
		receives_mark_uneven(schedule->receives, call->object);
	if (has_groups(schedule) && !uses_is_local(call))
		wait_for_all(step); /* it may use objects that any player created */
	else if (effect != EFFECT_CREATE && effect != EFFECT_GET)
		wait_for_group(schedule, step);
	note_control(schedule, step, call);
}

/* Drop waits for steps that the player has waited for before, and which are thus done. */
static void drop_known_waits(struct schedule *schedule, struct step *step)
{
	uint64_t *known = &schedule->known[(uint64_t)step->player * (schedule->players + 1)];
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

void schedule_step(struct schedule *schedule, const struct ordered_event *ordered,
		   struct step *step)
{
	const struct trace_event *event = ordered->event;

	*step = (struct step){
		.event = *ordered,
		.seq = ++schedule->seq,
		.player = player_of(schedule, event->id),
	};
	add_wait(step, schedule->control);
	if (has_groups(schedule))
		schedule_groups(schedule, step);
	if (schedule->how.comes_after_all &&
	    schedule->how.comes_after_all(schedule->how.arg, event->id))
		wait_for_all(step);
	switch (event->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		schedule_call(schedule, step, event->call);
		break;
	case TRACE_POST:
		schedule_post(schedule, step, event->post);
		break;
	case TRACE_POLL:
		schedule_poll(schedule, step, event->poll);
		break;
	case TRACE_NOTIFY:
		schedule_notify(schedule, step, event->notify->object);
		break;
	case TRACE_FORK:
	case TRACE_EXIT:
		schedule_stop(schedule, step);
		break;
	default:
		break;
	}
	drop_known_waits(schedule, step);
	schedule->last[step->player] = step->seq;
}

int schedule_new(const struct relations *relations, uint32_t nobjects, uint32_t players,
		 struct schedule_options how, struct schedule **ret_score)
{
	struct schedule *schedule = calloc(1, sizeof(*schedule));

	if (!schedule)
		return -ENOMEM;
	schedule->relations = relations;
	schedule->nobjects = nobjects;
	schedule->players = players;
	schedule->how = how;
	schedule->queues = calloc(nobjects, sizeof(*schedule->queues));
	schedule->known = calloc((players + 1ul) * (players + 1ul), sizeof(*schedule->known));
	schedule->last = calloc(players + 1ul, sizeof(*schedule->last));
	schedule->group_control = calloc(players + 1ul, sizeof(*schedule->group_control));
	if (!schedule->queues || !schedule->known || !schedule->last || !schedule->group_control ||
	    (how.counts && receives_new(relations, nobjects, &schedule->receives)) ||
	    (how.groups && groups_new(nobjects, players, &schedule->groups))) {
		schedule_free(schedule);
		return -ENOMEM;
	}
	*ret_score = schedule;
	return 0;
}

void schedule_free(struct schedule *schedule)
{
	if (!schedule)
		return;
	receives_free(schedule->receives);
	groups_free(schedule->groups);
	free(schedule->group_control);
	free(schedule->last);
	free(schedule->known);
	free(schedule->queues);
	free(schedule);
}
