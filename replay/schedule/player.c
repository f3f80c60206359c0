/*
 * The threads that play a compiled trace
 *
 *	code -> player: wait, play, done
 *
 * A player's progress is the number of its current step. It publishes that only every few steps,
 * and before it waits, since each store takes the cache line from its readers. A waiting player
 * stores the wanted number in `wanted`, checks once more, and sleeps on a futex; the other player
 * publishes at its next step, and wakes the sleepers once it has passed that number.
 */
#include "replay/schedule/player.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/lines.h"
#include "core/wire/log.h"

enum {
	SPINS = 100,
	SPINS_LEAST = 10,
	SPINS_MOST = 500,
	RETRY = 32,
	YIELDS = 100,
	STRETCH_STEPS = 16, /* steps */
	STACK = 1 << 19
};

#define SLEEP_MOST_NS  100000000 /* longest sleep, in ns, before another check */
#define SHORT_SLEEP_NS 1000000   /* shorter sleep, if the next check may have a new result */

struct player {
	struct players *all;
	struct player_code *code; /* NULL: no code */
	pthread_t thread;
	bool started;
	uint64_t last;   /* number of its last step */
	uint64_t now;    /* its current step, possibly not published yet */
	uint32_t untold; /* number of unpublished steps */
	uint64_t *seen;  /* `at` of each player, as last read by this one */
	/* read by other players */
	uint64_t at __attribute__((aligned(CACHE_LINE))); /* steps before it are done */
	/* the smallest number that a sleeper waits for */
	uint64_t wanted;
	uint64_t alive; /* incremented on progress */
	/* futex of players that wait for this one */
	uint32_t moves;
} __attribute__((aligned(CACHE_LINE)));

struct players {
	struct player_work work;
	uint32_t most;  /* players from 1 on */
	int err;        /* result of play(); ends all players */
	uint64_t *seen; /* storage of player.seen of all players */
	struct player player[];
};

static _Thread_local struct player *current;
static _Thread_local uint64_t known; /* all players have done their steps up to this one */
static _Thread_local unsigned int spins = SPINS;

#define load(word)         __atomic_load_n(&(word), __ATOMIC_SEQ_CST)
#define store(word, value) __atomic_store_n(&(word), value, __ATOMIC_SEQ_CST)

static void sleep_on(uint32_t *word, uint32_t value, long ns)
{
	const struct timespec slice = { .tv_nsec = ns };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &slice, NULL, 0);
}

static void wake_all(uint32_t *word)
{
	__atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static int64_t read_clock(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000000000ll + at.tv_nsec;
}

static void note_progress(struct player *p)
{
	__atomic_store_n(&p->alive, p->alive + 1, __ATOMIC_RELAXED);
}

/* The sum of the progress of all players: it grows on any progress. */
static uint64_t sum_progress(struct players *all)
{
	uint64_t n = 0;

	for (uint32_t i = 1; i <= all->most; i++)
		n += __atomic_load_n(&all->player[i].alive, __ATOMIC_RELAXED);
	return n;
}

/* Player @p has reached step @seq: wake players that wait for earlier steps. */
static void wake_waiters_of_step(struct player *p, uint64_t seq)
{
	if (load(p->wanted) >= seq)
		return;
	__atomic_exchange_n(&p->wanted, UINT64_MAX, __ATOMIC_SEQ_CST);
	wake_all(&p->moves);
}

static void request_step(struct player *p, uint64_t seq)
{
	uint64_t wanted = load(p->wanted);

	while (seq < wanted && !__atomic_compare_exchange_n(&p->wanted, &wanted, seq, false,
							    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

/* Has @p done all of its steps up to @seq? */
static bool has_done(const struct player *p, uint64_t seq)
{
	return __atomic_load_n(&p->at, __ATOMIC_ACQUIRE) > seq; /* pairs with advance_player() */
}

static void report_step(struct player *p)
{
	if (!p->untold)
		return;
	p->untold = 0;
	__atomic_store_n(&p->at, p->now, __ATOMIC_SEQ_CST);
	wake_waiters_of_step(p, p->now);
	note_progress(p);
}

/* Player @p has reached step @seq. */
static void advance_player(struct player *p, uint64_t seq)
{
	p->now = seq;
	if (++p->untold >= STRETCH_STEPS || __atomic_load_n(&p->wanted, __ATOMIC_RELAXED) < seq)
		report_step(p);
}

/* Like has_done(); first uses the value cached in @own, to avoid access to the cache line of @p. */
static bool has_done_for(struct player *own, const struct player *p, uint64_t seq)
{
	uint64_t *seen = &own->seen[p - own->all->player];

	if (*seen <= seq)
		*seen = __atomic_load_n(&p->at, __ATOMIC_ACQUIRE); /* as in has_done() */
	return *seen > seq;
}

/* The first player with unfinished steps up to @seq; NULL: none. */
static struct player *find_unfinished(struct players *all, struct player *but, uint64_t seq)
{
	if (known >= seq)
		return NULL;
	for (uint32_t i = 1; i <= all->most; i++)
		if (&all->player[i] != but && !has_done_for(but, &all->player[i], seq))
			return &all->player[i];
	known = seq;
	return NULL;
}

/* A player whose steps @wait still waits for; NULL: none. */
static struct player *find_blocking(struct players *all, const struct ready_step *step,
				    const struct wait *wait)
{
	struct player *own = &all->player[step->player], *p = &all->player[wait->player];

	if (wait->player == EVERY_PLAYER)
		return find_unfinished(all, own, wait->seq);
	return wait->player > all->most || has_done_for(own, p, wait->seq) ? NULL : p;
}

static void sleep_for(struct player *p, uint64_t seq, long ns)
{
	uint32_t moves = load(p->moves);

	request_step(p, seq < p->last ? seq : p->last);
	if (!has_done(p, seq))
		sleep_on(&p->moves, moves, ns);
}

/* Wait for a blocking player. False: no player made progress for longer than the patience. */
static bool await_blocking(struct players *all, const struct ready_step *step,
			   const struct wait *wait)
{
	uint64_t alive = sum_progress(all);
	struct player *p;
	int64_t since = 0;

	for (unsigned int turn = 0; (p = find_blocking(all, step, wait)) && !load(all->err);
	     turn++) {
		if (turn < SPINS) {
			__builtin_ia32_pause();
			continue;
		}
		if (turn == SPINS)
			all->work.rest(all->work.arg);
		if (turn < SPINS + YIELDS) {
			sched_yield();
			continue;
		}
		sleep_for(p, wait->seq, SLEEP_MOST_NS);
		if (sum_progress(all) != alive || !since)
			since = read_clock();
		else if (read_clock() - since > all->work.patience)
			return false;
		alive = sum_progress(all);
	}
	return true;
}

static bool await_step(struct players *all, const struct ready_step *step, const struct wait *wait)
{
	if (!find_blocking(all, step, wait))
		return true;
	report_step(&all->player[step->player]); /* other players may wait for this one */
	return await_blocking(all, step, wait);
}

static int play_step(struct player *p, struct ready_step *step)
{
	struct players *all = p->all;

	advance_player(p, step->seq);
	for (uint32_t i = 0; i < step->nwaits; i++)
		if (!await_step(all, step, &step->waits[i]))
			all->work.miss(all->work.arg, step, &step->waits[i]);
	return load(all->err) ? 0 : all->work.play(all->work.arg, step);
}

/* The name for a debugger, and for a trace of the replay: the number of the recorded thread. */
static void name_thread(const struct player *p)
{
	char name[16];

	snprintf(name, sizeof(name), "thread %u", (unsigned int)(p - p->all->player) & 0xffff);
	pthread_setname_np(pthread_self(), name);
}

static void *run_player(void *arg)
{
	struct player *p = current = arg;
	struct ready_step *step;
	int err;

	name_thread(p);
	while (!load(p->all->err) && (err = player_code_next(p->code, &step)) != 0) {
		err = err < 0 ? err : play_step(p, step);
		if (err < 0)
			store(p->all->err, err);
	}
	p->all->work.rest(p->all->work.arg);
	advance_player(p, UINT64_MAX);
	report_step(p);
	return NULL;
}

bool player_is_late(void)
{
	uint64_t at = current ? current->now : 0;

	return at > 1 && find_unfinished(current->all, current, at - 1);
}

void player_sleep(void)
{
	uint64_t at = current ? current->now : 0;
	struct player *p = at > 1 ? find_unfinished(current->all, current, at - 1) : NULL;

	if (p)
		sleep_for(p, at - 1, SHORT_SLEEP_NS);
}

/*
 * A wake-up takes microseconds, and spinning takes them from the awaited thread if there are few
 * processors: the spin time depends on whether spinning helped the last times.
 */
void player_await_others(void)
{
	static _Thread_local unsigned int failures;
	uint64_t at = current ? current->now : 0;
	struct player *p = NULL;
	unsigned int turn = 0;

	while (at > 1 && (p = find_unfinished(current->all, current, at - 1)) && turn++ < spins)
		__builtin_ia32_pause();
	failures = p ? failures + 1 : 0;
	spins = failures % RETRY == 0 ? SPINS_MOST : spins / 2 + SPINS_LEAST;
	if (p)
		sleep_for(p, at - 1, SHORT_SLEEP_NS);
}

void player_report_step(void)
{
	if (current)
		report_step(current);
}

void player_note_wait(void)
{
	if (current)
		note_progress(current);
}

static int start_player(struct player *p)
{
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	err = -pthread_create(&p->thread, &attr, run_player, p);
	pthread_attr_destroy(&attr);
	p->started = !err;
	return err ? log_err(err, "start a thread that replays") : 0;
}

static void free_players(struct players *all)
{
	if (all)
		free(all->seen);
	free(all);
}

static struct players *make_players(const struct player_work *work, struct bytecode *bytecode,
				    uint32_t most)
{
	size_t bytes = sizeof(struct players) + (most + 1ul) * sizeof(struct player);
	struct players *all = lines_alloc(1, bytes);
	size_t row = (most + CACHE_LINE / sizeof(uint64_t)) & -(CACHE_LINE / sizeof(uint64_t));

	if (all)
		all->seen = lines_alloc((most + 1) * row, sizeof(*all->seen));
	if (!all || !all->seen) {
		free_players(all);
		return NULL;
	}
	all->work = *work;
	all->most = most;
	for (uint32_t i = 0; i <= most; i++) {
		all->player[i].all = all;
		all->player[i].seen = all->seen + i * row;
		all->player[i].code = bytecode_of_player(bytecode, i);
		all->player[i].last =
			all->player[i].code ? player_code_last_step(all->player[i].code) : 0;
		all->player[i].at = all->player[i].code ? 0 : UINT64_MAX;
		all->player[i].wanted = UINT64_MAX;
	}
	return all;
}

int players_run(const struct player_work *work, struct bytecode *bytecode, uint32_t most)
{
	struct players *all = make_players(work, bytecode, most);
	int err = all ? 0 : log_err(-ENOMEM, "start the threads that replay");

	for (uint32_t i = 1; i <= most && !err; i++)
		if (all->player[i].code)
			err = start_player(&all->player[i]);
	if (err && all)
		store(all->err, err);
	for (uint32_t i = 1; all && i <= most; i++)
		if (all->player[i].started)
			pthread_join(all->player[i].thread, NULL);
	err = all ? all->err : err;
	free_players(all);
	return err;
}
