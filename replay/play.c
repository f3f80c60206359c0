/*
 * Going through the events of a trace
 *
 *	serial:    source -> order -> replay
 *	threads:   source -> order -> score -> players -> replay
 *
 * Players share the state of the replay under one lock, which they have while they replay an
 * event, but not while they wait: for a step of another player, for the device, for their time.
 */
#include "replay/play.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "core/wire/log.h"
#include "replay/calls.h"
#include "replay/pace.h"
#include "replay/player.h"
#include "replay/source.h"
#include "replay/state.h"

enum { PLAYERS_MAX = 256 };

#define PATIENCE 5000000000ll /* ns in which nothing moves */

/* A trace on its way. */
struct play {
	struct replay *r;
	play_event *event;
	struct source *source;
	struct relations ahead, here; /* where the order looks, and where the events are given */
	struct order *order;
	struct score *score;
	struct players *players;
	pthread_mutex_t lock; /* of the replay's state */
	uint32_t waiting;     /* for the lock */
};

static void tell_progress(void *arg)
{
	const struct replay *r = arg;

	if (r->options->tell)
		r->options->tell(r->events, r->last);
}

/* When an event of there is due here; a trace may name any time, and --pace any factor. */
static int64_t due_at(const struct replay *r, int64_t time)
{
	double ns = (double)time / r->options->pace;

	return ns < 0 ? r->start : r->start + (int64_t)(ns < 1e18 ? ns : 1e18);
}

static void wait_until_due(const struct replay *r, const struct trace_event *event)
{
	if (r->options->pace > 0)
		pace_sleep_until(due_at(r, event->time));
}

static int replay_one(struct play *p, const struct trace_event *event)
{
	struct replay *r = p->r;
	int err;

	if (outcome_stopped(r->outcome))
		return -ECANCELED;
	if (event->time > r->last)
		r->last = event->time;
	err = p->event(r, event);
	r->events++;
	outcome_count(r->outcome, OUTCOME_SEEN, 1);
	return err;
}

static int play_serially(struct play *p)
{
	struct ordered event;
	int err;

	pace_on_wait(tell_progress, p->r);
	while ((err = order_next(p->order, &event)) > 0) {
		wait_until_due(p->r, event.event);
		err = replay_one(p, event.event);
		order_release(p->order, &event);
		if (err < 0)
			break;
	}
	pace_on_wait(NULL, NULL);
	return err;
}

static void enter_replay(void *arg)
{
	struct play *p = arg;

	if (!pthread_mutex_trylock(&p->lock))
		return;
	__atomic_add_fetch(&p->waiting, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&p->lock);
	__atomic_sub_fetch(&p->waiting, 1, __ATOMIC_RELAXED);
}

/* Returns whether another waits for it. */
static bool leave_replay(void *arg)
{
	struct play *p = arg;

	player_waits();
	pthread_mutex_unlock(&p->lock);
	return __atomic_load_n(&p->waiting, __ATOMIC_RELAXED);
}

static bool is_behind(void *arg)
{
	(void)arg;
	return player_is_behind();
}

static void await_others(void *arg)
{
	(void)arg;
	player_await_others();
}

static void note_sleep(void *arg)
{
	(void)arg;
	player_waits();
}

static int play_step(void *arg, const struct step *step)
{
	struct play *p = arg;
	int err;

	wait_until_due(p->r, step->event.event);
	enter_replay(p);
	err = replay_one(p, step->event.event);
	pthread_mutex_unlock(&p->lock);
	return err < 0 ? err : 0;
}

static void release_step(void *arg, const struct step *step)
{
	order_release(((struct play *)arg)->order, &step->event);
}

static void report_miss(void *arg, const struct step *step, const struct wait *wait)
{
	const struct trace_event *event = step->event.event;
	struct play *p = arg;
	char there[96];

	if (wait->player == EVERY_PLAYER)
		snprintf(there, sizeof(there), "after all before it");
	else
		snprintf(there, sizeof(there), "after what thread %u did before it", wait->player);
	enter_replay(p);
	outcome_divergence(p->r->outcome, &(struct divergence){ .event = event->id,
								.verb = trace_verb(event),
								.field = "order",
								.recorded = there,
								.replayed = "that does not end" });
	pthread_mutex_unlock(&p->lock);
}

/* Does it do anything here? */
static bool is_played(const struct trace_event *event)
{
	switch (event->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		return calls_takes(event);
	case TRACE_POST:
	case TRACE_POLL:
	case TRACE_NOTIFY:
		return !event->inner;
	case TRACE_FORK:
	case TRACE_EXIT:
		return true;
	default:
		return false;
	}
}

static int give_events(struct play *p)
{
	struct ordered event;
	struct step step;
	int err;

	while ((err = order_next(p->order, &event)) > 0) {
		err = relations_note(&p->here, event.event);
		if (!err && is_played(event.event)) {
			score_step(p->score, &event, &step);
			err = players_give(p->players, &step);
		} else {
			order_release(p->order, &event);
		}
		if (err < 0)
			return err;
	}
	return err;
}

static int play_threads(struct play *p)
{
	const struct pace_sharing sharing = { leave_replay, enter_replay, is_behind,
					      await_others, note_sleep,   p };
	const struct player_work work = { play_step, release_step, report_miss, p,
					  p->r->options->timeout + PATIENCE };
	uint32_t players = 0;
	int err;

	while (trace_thread(p->r->trace, players + 1) && players < PLAYERS_MAX)
		players++;
	players += !players;
	if (relations_init(&p->here, p->r->trace, p->r->peers, p->r->nreplicas) ||
	    score_new(&p->here, p->r->nreplicas, players, p->r->contents, &p->score) ||
	    players_new(&work, players, &p->players))
		return log_err(-ENOMEM, "prepare the replay");
	pace_share(&sharing);
	pace_on_wait(tell_progress, p->r);
	err = give_events(p);
	err = err < 0 ? err : players_end(p->players);
	players_free(p->players);
	pace_on_wait(NULL, NULL);
	pace_share(NULL);
	return err;
}

static int begin_play(struct play *p)
{
	struct order_source source;
	int err = source_open(p->r->trace, !p->r->options->serial, &p->source);

	if (err)
		return err;
	source = source_of(p->source);
	if (relations_init(&p->ahead, p->r->trace, p->r->peers, p->r->nreplicas) ||
	    order_new(&source, &p->ahead, &p->order))
		return log_err(-ENOMEM, "prepare the replay");
	return 0;
}

int play_trace(struct replay *r, play_event *event)
{
	struct play p = { .r = r, .event = event, .lock = PTHREAD_MUTEX_INITIALIZER };
	int err = begin_play(&p);

	r->start = pace_now();
	if (!err)
		err = r->options->serial ? play_serially(&p) : play_threads(&p);
	outcome_time(r->outcome, (double)r->last / 1e9, (double)(pace_now() - r->start) / 1e9);
	score_free(p.score);
	order_free(p.order);
	relations_fini(&p.ahead);
	relations_fini(&p.here);
	source_close(p.source);
	return err;
}
