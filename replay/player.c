/*
 * The threads that play a score
 *
 *	players_give() -> | step | step | step | -> player: wait, play, done
 *	                  blocks of a list, one for each player
 *
 * Three numbers of steps tell how far a player is: the last that it was given, the one at which it
 * is, and the last that it has done. Who waits for it puts the number into `wanted`, looks once
 * more, and sleeps on a futex; the player wakes those who sleep when it has come to that number.
 */
#include "replay/player.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 64, SPINS = 100, SPINS_LEAST = 10, SPINS_MOST = 500, YIELDS = 20, STACK = 1 << 19 };

#define SLICE 100000000 /* ns of sleep before another look */
#define BRIEF 1000000   /* where another look may tell more */

struct block {
	struct block *next;
	struct step steps[BLOCK];
};

struct player {
	struct players *all;
	pthread_t thread;
	bool started;
	struct block *first, *last; /* of the player, and of who gives */
	uint64_t played;            /* steps; of the player alone */
	uint64_t pushed;
	uint64_t given, at, done; /* numbers of steps */
	uint64_t wanted;          /* the least for which somebody sleeps */
	uint32_t moves;           /* futex of who waits for this player */
	uint32_t work;            /* futex of the player, without a step */
	bool idle;
};

struct players {
	struct player_work work;
	uint32_t most, used; /* players from 1 on; the highest that has started */
	bool closed;         /* no more steps */
	int err;             /* of play(); ends all */
	uint64_t alive;      /* grows while something moves */
	struct player player[];
};

static _Thread_local struct player *current;
static _Thread_local uint64_t known; /* steps up to this one are done */
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

static void note_alive(struct players *all)
{
	__atomic_add_fetch(&all->alive, 1, __ATOMIC_RELAXED);
}

/* It has come to step @seq: wake who wanted less than that. */
static void wake_for(struct player *p, uint64_t seq)
{
	if (load(p->wanted) >= seq)
		return;
	__atomic_exchange_n(&p->wanted, UINT64_MAX, __ATOMIC_SEQ_CST);
	wake_all(&p->moves);
}

static void want_step(struct player *p, uint64_t seq)
{
	uint64_t wanted = load(p->wanted);

	while (seq < wanted && !__atomic_compare_exchange_n(&p->wanted, &wanted, seq, false,
							    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

/* Are all of its steps up to @seq, which it has been given, done? */
static bool has_done(const struct player *p, uint64_t seq)
{
	uint64_t given = load(p->given);

	return load(p->done) >= seq || load(p->at) > seq || load(p->done) >= given;
}

/* The first player that has not done its steps up to @seq; NULL: all have. */
static struct player *find_behind(struct players *all, const struct player *but, uint64_t seq)
{
	uint32_t used = __atomic_load_n(&all->used, __ATOMIC_ACQUIRE);

	if (known >= seq)
		return NULL;
	for (uint32_t i = 1; i <= used; i++)
		if (&all->player[i] != but && !has_done(&all->player[i], seq))
			return &all->player[i];
	known = seq;
	return NULL;
}

/* Who must move on for @wait; NULL: it is over. */
static struct player *find_blocking(struct players *all, const struct step *step,
				    const struct wait *wait)
{
	struct player *p = &all->player[wait->player];

	if (wait->player == EVERY_PLAYER)
		return find_behind(all, &all->player[step->player], wait->seq);
	return wait->player > all->most || has_done(p, wait->seq) ? NULL : p;
}

static void sleep_for(struct player *p, uint64_t seq, long ns)
{
	uint32_t moves = load(p->moves);
	uint64_t given = load(p->given);

	want_step(p, seq < given ? seq : given);
	if (!has_done(p, seq))
		sleep_on(&p->moves, moves, ns);
}

/* False if nothing has moved anywhere for longer than the patience. */
static bool await_step(struct players *all, const struct step *step, const struct wait *wait)
{
	uint64_t alive = load(all->alive);
	struct player *p;
	int64_t since = 0;

	for (unsigned int turn = 0; (p = find_blocking(all, step, wait)) && !load(all->err);
	     turn++) {
		if (turn < SPINS) {
			__builtin_ia32_pause();
			continue;
		}
		if (turn < SPINS + YIELDS) {
			sched_yield();
			continue;
		}
		sleep_for(p, wait->seq, SLICE);
		if (load(all->alive) != alive || !since)
			since = read_clock();
		else if (read_clock() - since > all->work.patience)
			return false;
		alive = load(all->alive);
	}
	return true;
}

static void play_step(struct player *p, const struct step *step)
{
	struct players *all = p->all;
	int err;

	store(p->at, step->seq);
	wake_for(p, step->seq);
	for (uint32_t i = 0; i < step->nwaits; i++)
		if (!await_step(all, step, &step->waits[i]))
			all->work.miss(all->work.arg, step, &step->waits[i]);
	err = load(all->err) ? 0 : all->work.play(all->work.arg, step);
	if (err)
		store(all->err, err);
	all->work.release(all->work.arg, step);
	note_alive(all);
	store(p->done, step->seq);
	wake_for(p, step->seq + 1);
}

/* The next step, or NULL at the end. */
static const struct step *await_work(struct player *p)
{
	struct players *all = p->all;

	for (unsigned int turn = 0; p->played == load(p->pushed); turn++) {
		uint32_t work = load(p->work);

		if (load(all->closed) && p->played == load(p->pushed))
			return NULL;
		if (turn < SPINS) {
			__builtin_ia32_pause();
			continue;
		}
		store(p->idle, true);
		if (p->played == load(p->pushed) && !load(all->closed))
			sleep_on(&p->work, work, SLICE);
		store(p->idle, false);
	}
	return &p->first->steps[p->played % BLOCK];
}

static void drop_step(struct player *p)
{
	struct block *block = p->first;

	if (++p->played % BLOCK)
		return;
	p->first = block->next;
	free(block);
}

/* As a debugger shows it, and a trace of the replay: the number of the recorded thread. */
static void name_thread(const struct player *p)
{
	char name[16];

	snprintf(name, sizeof(name), "thread %u", (unsigned int)(p - p->all->player) & 0xffff);
	pthread_setname_np(pthread_self(), name);
}

static void *run_player(void *arg)
{
	const struct step *step;

	current = arg;
	name_thread(current);
	while ((step = await_work(current))) {
		play_step(current, step);
		drop_step(current);
	}
	return NULL;
}

bool player_is_behind(void)
{
	uint64_t at = current ? load(current->at) : 0;

	return at > 1 && find_behind(current->all, current, at - 1);
}

/*
 * To be woken takes microseconds, and to try in vain takes them from the one who is waited for,
 * where processors are few: how long we try depends on whether that helped the last times.
 */
void player_await_others(void)
{
	uint64_t at = current ? load(current->at) : 0;
	struct player *p = NULL;
	unsigned int turn = 0;

	while (at > 1 && (p = find_behind(current->all, current, at - 1)) && turn++ < spins)
		__builtin_ia32_pause();
	if (!p) {
		spins = spins * 2 < SPINS_MOST ? spins * 2 : SPINS_MOST;
		return;
	}
	spins = spins / 2 > SPINS_LEAST ? spins / 2 : SPINS_LEAST;
	sleep_for(p, at - 1, BRIEF);
}

void player_waits(void)
{
	if (current)
		note_alive(current->all);
}

int players_new(const struct player_work *work, uint32_t most, struct players **ret_players)
{
	struct players *all = calloc(1, sizeof(*all) + (most + 1ul) * sizeof(struct player));

	if (!all)
		return -ENOMEM;
	all->work = *work;
	all->most = most;
	for (uint32_t i = 0; i <= most; i++) {
		all->player[i].all = all;
		all->player[i].wanted = UINT64_MAX;
	}
	*ret_players = all;
	return 0;
}

static int start_player(struct player *p)
{
	pthread_attr_t attr;
	int err;

	p->first = p->last = calloc(1, sizeof(*p->first));
	if (!p->first)
		return -ENOMEM;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	err = -pthread_create(&p->thread, &attr, run_player, p);
	pthread_attr_destroy(&attr);
	p->started = !err;
	if (p->started && p->all->used < (uint32_t)(p - p->all->player))
		__atomic_store_n(&p->all->used, (uint32_t)(p - p->all->player), __ATOMIC_RELEASE);
	return err;
}

int players_give(struct players *all, const struct step *step)
{
	struct player *p = &all->player[step->player];
	int err = load(all->err);

	if (!err && !p->started)
		err = start_player(p);
	if (err)
		return err;
	p->last->steps[p->pushed % BLOCK] = *step;
	if (p->pushed % BLOCK == BLOCK - 1) {
		p->last->next = calloc(1, sizeof(*p->last));
		if (!p->last->next)
			return -ENOMEM;
		p->last = p->last->next;
	}
	store(p->given, step->seq);
	store(p->pushed, p->pushed + 1);
	if (load(p->idle))
		wake_all(&p->work);
	return 0;
}

int players_end(struct players *all)
{
	store(all->closed, true);
	for (uint32_t i = 1; i <= all->most; i++)
		if (all->player[i].started)
			wake_all(&all->player[i].work);
	for (uint32_t i = 1; i <= all->most; i++) {
		if (all->player[i].started)
			pthread_join(all->player[i].thread, NULL);
		all->player[i].started = false;
	}
	return all->err;
}

void players_free(struct players *all)
{
	if (!all)
		return;
	if (!all->closed) {
		store(all->err, all->err ? all->err : -ECANCELED);
		players_end(all);
	}
	for (uint32_t i = 1; i <= all->most; i++)
		while (all->player[i].first) {
			struct block *block = all->player[i].first;

			all->player[i].first = block->next;
			free(block);
		}
	free(all);
}
