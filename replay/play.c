/*
 * Going through the events of a trace
 *
 *	serial:    tape -> replay
 *	threads:   tapes -> players -> replay
 *
 * The trace has been compiled before. Players share the state of the replay under one lock, which
 * they have while they replay an event, but not while they wait: for a step of another player, for
 * the device, for their time.
 */
#include "replay/play.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "core/wire/log.h"
#include "replay/compile.h"
#include "replay/pace.h"
#include "replay/player.h"
#include "replay/state.h"

#define PATIENCE 5000000000ll /* ns in which nothing moves */

/* A trace on its way. */
struct play {
	struct replay *r;
	play_event *event;
	struct tapes *tapes;
	uint32_t players;
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
	struct tape *tape = tapes_of(p->tapes, 1);
	struct ready *step;
	int err = 0;

	pace_on_wait(tell_progress, p->r);
	while (tape && (err = tape_next(tape, &step)) > 0) {
		wait_until_due(p->r, &step->event);
		err = replay_one(p, &step->event);
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

static int play_step(void *arg, struct ready *step)
{
	struct play *p = arg;
	int err;

	wait_until_due(p->r, &step->event);
	enter_replay(p);
	err = replay_one(p, &step->event);
	pthread_mutex_unlock(&p->lock);
	return err < 0 ? err : 0;
}

static void report_miss(void *arg, const struct ready *step, const struct wait *wait)
{
	const struct trace_event *event = &step->event;
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

static int play_threads(struct play *p)
{
	const struct pace_sharing sharing = { leave_replay, enter_replay, is_behind,
					      await_others, note_sleep,   p };
	const struct player_work work = { play_step, report_miss, p,
					  p->r->options->timeout + PATIENCE };
	int err;

	pace_share(&sharing);
	pace_on_wait(tell_progress, p->r);
	err = players_run(&work, p->tapes, p->players);
	pace_on_wait(NULL, NULL);
	pace_share(NULL);
	return err;
}

int play_trace(struct replay *r, play_event *event)
{
	struct play p = { .r = r, .event = event, .lock = PTHREAD_MUTEX_INITIALIZER };
	int64_t start = pace_now();
	int err = compile_trace(r, &p.tapes, &p.players);

	r->start = pace_now();
	if (!err)
		err = r->options->serial ? play_serially(&p) : play_threads(&p);
	outcome_time(r->outcome, (double)r->last / 1e9, (double)(r->start - start) / 1e9,
		     (double)(pace_now() - r->start) / 1e9);
	tapes_free(p.tapes);
	return err;
}
