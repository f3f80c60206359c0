/*
 * Iterating over the events of a trace
 *
 *	serial:    code -> replay
 *	threads:   bytecode -> players -> replay
 *
 * The trace has been compiled before. Posts and polls that go as recorded (fast.h) are done by many
 * players at once, each with its own queues; for all other events a player has exclusive access to
 * the state of the replay (gate.h), but not while it waits: for a step of another player, for the
 * device, for its time.
 */
#include "replay/play.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/wire/log.h"
#include "replay/compile.h"
#include "replay/data/expect.h"
#include "replay/data/fast.h"
#include "replay/two_host/pair.h"
#include "replay/state/gate.h"
#include "replay/report/pace.h"
#include "replay/schedule/player.h"
#include "replay/state/state.h"

/*
 * Threads that poll without a pause need a processor each, and one must be free for other work: if
 * one thread is preempted, all threads that wait for it stop, too. With fewer processors a single
 * thread is faster, since no message goes from one processor to another.
 */

enum { IDLE = 8 }; /* idle: a thread with at most 1/8 of the busiest thread's events */

static unsigned int count_processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned int)CPU_COUNT(&set);
}

/* The number of recorded threads with most of the events. */
static unsigned int count_busy(const struct replay *r)
{
	const struct thread *thread;
	unsigned int busy = 0;
	uint64_t most = 0;

	for (uint32_t i = 1; (thread = trace_thread(r->trace, i)); i++)
		most = thread->events > most ? thread->events : most;
	for (uint32_t i = 1; (thread = trace_thread(r->trace, i)); i++)
		busy += thread->events > most / IDLE;
	return busy;
}

/* Should one thread play all events? Prints a note if that was not requested. */
static bool choose_serial(struct replay *r)
{
	unsigned int processors = count_processors(), busy;

	if (r->options->threads != THREADS_AUTO)
		return r->options->threads == THREADS_SERIAL;
	/*
	 * one order on each host, so that no wait of one host depends on a later wait of the other
	 */
	if (r->pair)
		return true;
	if (r->options->pace > 0 || r->options->processes)
		return false;
	busy = count_busy(r);
	if (busy < 2 || processors > busy)
		return false;
	outcome_note(r->outcome,
		     "one thread replayed %u busy threads, since the machine has %u processors "
		     "(--threads recorded: one for each)",
		     busy, processors);
	return true;
}

#define PATIENCE 5000000000ll /* ns without progress */

/* empty polls; numbers of steps */
enum { SPINS = 2048, LOOK_AFTER = 16, RETRY = 32, YIELDS = 64, HELD_MOST = 32 };

/* A replay in progress. */
struct play {
	struct replay *r;
	play_event *event;
	struct bytecode *bytecode;
	uint32_t players;
	struct gate gate; /* protects the replay's state */
};

static _Thread_local bool inside;   /* of the gate */
static _Thread_local uint32_t held; /* number of steps since it closed the gate; 0: it is open */

static void report_progress(void *arg)
{
	const struct replay *r = arg;

	if (r->options->tell)
		r->options->tell(outcome_total(r->outcome, OUTCOME_SEEN), r->last);
}

/* The time in the replay for a recorded time; a trace may have any time, and --pace any factor. */
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

/* The progress of a step. */
struct progress {
	uint32_t done; /* completions of a poll */
	bool all;      /* the step is finished */
	bool waits;    /* it waits for a completion; try the fast path again */
};

/* Try the fast path. @alone: the caller has exclusive access to the replay. */
static void try_fast_path(struct replay *r, struct ready_step *step, struct progress *so_far,
			  unsigned int spins, bool alone)
{
	int done;

	so_far->waits = false;
	if (step->event.kind == TRACE_POST)
		so_far->all = fast_post(r, step, alone);
	if (step->event.kind != TRACE_POLL)
		return;
	done = fast_poll(r, step, so_far->done, spins, alone);
	so_far->waits = done >= 0;
	if (done > 0)
		so_far->done = (uint32_t)done;
	so_far->all = done == (int)step->event.poll->nwc;
	if (so_far->all)
		expect_note(r, &step->event);
}

/* Play a step, a poll from completion @from on, with exclusive access to the replay. */
static int play_slow_path(struct play *p, const struct ready_step *step, uint32_t from)
{
	const struct trace_event *event = &step->event;
	struct replay *r = p->r;
	int err;

	if (from)
		return expect_poll(r, event, from);
	if (event->kind == TRACE_POST || event->kind == TRACE_POLL || event->kind == TRACE_NOTIFY)
		return p->event(r, event);
	r->changes++; /* before the event, too: other threads may play while it waits */
	err = p->event(r, event);
	r->changes++;
	return err;
}

/* Play a step with exclusive access to the replay. */
static int play_exclusively(struct play *p, struct ready_step *step, struct progress *so_far)
{
	struct replay *r = p->r;

	if (outcome_stopped(r->outcome))
		return -ECANCELED;
	if (step->event.time > r->last)
		r->last = step->event.time;
	outcome_count(r->outcome, OUTCOME_SEEN, 1);
	if (!so_far->done)
		try_fast_path(r, step, so_far, 0, true);
	return so_far->all ? 0 : play_slow_path(p, step, so_far->done);
}

static int play_serially(struct play *p)
{
	struct player_code *code = bytecode_of_player(p->bytecode, 1);
	struct ready_step *step;
	int err = 0;

	pace_on_wait(report_progress, p->r);
	while (code && (err = player_code_next(code, &step)) > 0) {
		wait_until_due(p->r, &step->event);
		err = play_exclusively(p, step, &(struct progress){ 0 });
		if (err < 0)
			break;
	}
	pace_on_wait(NULL, NULL);
	return err;
}

static void enter_replay(void *arg)
{
	struct play *p = arg;

	gate_close(&p->gate);
}

/* Returns whether another thread waits for access. */
static bool leave_replay(void *arg)
{
	struct play *p = arg;

	player_note_wait();
	return gate_open(&p->gate);
}

static bool is_behind(void *arg)
{
	(void)arg;
	return player_is_late();
}

static void await_others(void *arg)
{
	(void)arg;
	player_await_others();
}

static void note_sleep(void *arg)
{
	(void)arg;
	player_note_wait();
}

static void leave_gate(void *arg)
{
	struct play *p = arg;

	if (inside)
		gate_leave(&p->gate);
	inside = false;
	if (held)
		gate_open(&p->gate);
	held = 0;
}

static bool enter_gate(struct play *p)
{
	if (inside && gate_is_closed(&p->gate))
		leave_gate(p);
	if (!inside)
		inside = gate_enter(&p->gate);
	return inside;
}

/*
 * A wake-up takes as long as thousands of polls, and delays the threads that wait for the sleeper:
 * so poll that long before sleeping. With few processors polling only takes time from the awaited
 * thread: if polling did not help, poll less the next times, but sometimes the full time again.
 */
static void adapt_spins(unsigned int *spins, bool helped)
{
	static _Thread_local unsigned int failures;

	failures = helped ? 0 : failures + 1;
	*spins = failures % RETRY == 0 ? SPINS : *spins / 2 + 1;
}

/* Play a step by the fast path, while other threads are inside the gate, too. */
static void play_shared_step(struct play *p, struct ready_step *step, struct progress *so_far)
{
	static _Thread_local unsigned int spins = SPINS;
	unsigned int spun = 0;

	if (step->event.kind == TRACE_POLL) /* a poll often waits */
		player_report_step();
	do {
		try_fast_path(p->r, step, so_far, LOOK_AFTER, false);
		spun += LOOK_AFTER;
	} while (so_far->waits && !so_far->all && spun < spins && !gate_is_closed(&p->gate));
	if (so_far->all)
		outcome_count(p->r->outcome, OUTCOME_SEEN, 1);
	if (spun > LOOK_AFTER || !so_far->all)
		adapt_spins(&spins, so_far->all);
}

static bool is_call(const struct ready_step *step)
{
	return step->event.kind == TRACE_CALL || step->event.kind == TRACE_RETURN;
}

/*
 * Play a step with exclusive access, and keep that for some control verbs in a row: they are played
 * one at a time anyway, and to hand over the lock takes longer than a verb.
 */
static int play_alone(struct play *p, struct ready_step *step, struct progress *so_far)
{
	int err;

	if (!held)
		enter_replay(p);
	err = play_exclusively(p, step, so_far);
	held++;
	if (held == HELD_MOST || !is_call(step))
		leave_gate(p);
	return err < 0 ? err : 0;
}

static int play_step(void *arg, struct ready_step *step)
{
	struct progress so_far = { 0 };
	struct play *p = arg;
	unsigned int turns = 0;

	if (held && !is_call(step))
		leave_gate(p);
	while (!held && p->r->options->pace <= 0 && !outcome_stopped(p->r->outcome) &&
	       enter_gate(p)) {
		play_shared_step(p, step, &so_far);
		if (so_far.all)
			return 0;
		leave_gate(p);
		if (!so_far.waits || !player_is_late())
			break;
		/* a thread that only sleeps is never moved to an idle processor */
		if (++turns % YIELDS)
			sched_yield();
		else
			player_sleep();
	}
	player_report_step();
	if (p->r->options->pace > 0)
		leave_gate(p);
	wait_until_due(p->r, &step->event);
	return play_alone(p, step, &so_far);
}

static void report_lost_step(void *arg, const struct ready_step *step, const struct wait *wait)
{
	const struct trace_event *event = &step->event;
	struct play *p = arg;
	char there[96];

	if (wait->player == EVERY_PLAYER)
		snprintf(there, sizeof(there), "after all earlier events");
	else
		snprintf(there, sizeof(there), "after the earlier events of thread %u",
			 wait->player);
	leave_gate(p);
	enter_replay(p);
	outcome_add_divergence(p->r->outcome,
			       &(struct divergence){ .event = event->id,
						     .verb = trace_verb(event),
						     .field = "order",
						     .recorded = there,
						     .replayed = "the earlier events "
								 "did not end" });
	gate_open(&p->gate);
}

static int play_threads(struct play *p)
{
	const struct pace_sharing sharing = { leave_replay, enter_replay, is_behind,
					      await_others, note_sleep,   p };
	const struct player_work work = { play_step, report_lost_step, leave_gate, p,
					  p->r->options->timeout + PATIENCE };
	int err;

	pace_share(&sharing);
	pace_on_wait(report_progress, p->r);
	err = players_run(&work, p->bytecode, p->players);
	pace_on_wait(NULL, NULL);
	pace_share(NULL);
	return err;
}

int play_trace(struct replay *r, play_event *event)
{
	struct play p = { .r = r, .event = event, .gate = GATE_OPEN };
	int64_t start = pace_now();
	bool serial = choose_serial(r);
	int err = compile_trace(r, serial, &p.bytecode, &p.players);

	outcome_set_compiled(r->outcome);
	err = err ?: pair_begin(r);
	r->start = pace_now();
	if (!err)
		err = serial ? play_serially(&p) : play_threads(&p);
	if (!err && !outcome_stopped(r->outcome))
		r->last = bytecode_time(p.bytecode);
	outcome_set_times(r->outcome, (double)r->last / 1e9, (double)(r->start - start) / 1e9,
			  (double)(pace_now() - r->start) / 1e9);
	if (serial)
		outcome_note_wait(r->outcome, pace_longest_wait());
	bytecode_free(p.bytecode);
	return err;
}
