#include <errno.h>
#include <pthread.h>

#include "replay/schedule/player.h"
#include "tests/test.h"

enum { PLAYERS = 6, STEPS = 5000 };

static struct {
	pthread_mutex_t lock;
	uint64_t order[STEPS + 1]; /* numbers of steps in the order in which they were played */
	bool done[STEPS + 1];
	unsigned int played, missed;
	uint64_t fails; /* the step that fails */
	bool early;     /* a step was played before an event that it waits for */
	bool behind;    /* a step was reported as late */
	/* step @waits is played until @awaited is done, which one thread waits for in vain */
	uint64_t waits, awaited;
	pthread_cond_t moved;
} seen = { .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER };

/* As in a poll: under the lock, and for at most ten seconds. */
static void await_step(uint64_t seq)
{
	struct timespec until;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	player_report_step();
	while (!seen.done[seq] && !err)
		err = pthread_cond_timedwait(&seen.moved, &seen.lock, &until);
	seen.early |= !seen.done[seq];
}

static int play_step(void *arg, struct ready_step *step)
{
	(void)arg;
	pthread_mutex_lock(&seen.lock);
	for (uint32_t i = 0; i < step->nwaits; i++) {
		const struct wait *w = &step->waits[i];

		for (uint64_t s = 1; w->player == EVERY_PLAYER && s <= w->seq; s++)
			seen.early |= !seen.done[s];
		seen.early |= !seen.done[w->seq];
	}
	if (step->seq == seen.waits)
		await_step(seen.awaited);
	seen.order[seen.played++] = step->seq;
	seen.done[step->seq] = true;
	pthread_cond_broadcast(&seen.moved);
	seen.behind |= step->nwaits && step->waits[0].player == EVERY_PLAYER && player_is_late();
	pthread_mutex_unlock(&seen.lock);
	return step->seq == seen.fails ? -EIO : 0;
}

static void miss_wait(void *arg, const struct ready_step *step, const struct wait *wait)
{
	(void)arg;
	(void)step;
	(void)wait;
	__atomic_add_fetch(&seen.missed, 1, __ATOMIC_RELAXED);
}

static void rest_player(void *arg)
{
	(void)arg;
}

static struct bytecode *begin_bytecode(void)
{
	struct bytecode *bytecode;

	seen.played = seen.missed = 0;
	seen.fails = seen.waits = 0;
	seen.early = seen.behind = false;
	memset(seen.done, 0, sizeof(seen.done));
	assert_int_equal(bytecode_new(PLAYERS, 1 << 20, &bytecode), 0);
	return bytecode;
}

static void put_step(struct bytecode *bytecode, struct step step)
{
	const struct trace_event event = { .kind = TRACE_EXIT, .id = { step.player, step.seq } };

	step.event.event = &event;
	assert_int_equal(bytecode_put_step(bytecode, &step), 0);
}

static int play_bytecode(struct bytecode *bytecode, int64_t patience)
{
	const struct player_work work = { play_step, miss_wait, rest_player, NULL, patience };
	int err;

	bytecode_end(bytecode);
	err = players_run(&work, bytecode, PLAYERS);
	bytecode_free(bytecode);
	return err;
}

static struct step random_step(uint64_t seq, unsigned int *dice)
{
	struct step s = { .seq = seq };

	*dice = *dice * 1103515245 + 12345;
	s.player = 1 + *dice / 65536 % PLAYERS;
	if (seq > 10 && *dice % 64 == 0) {
		s.nwaits = 1;
		s.waits[0] = (struct wait){ EVERY_PLAYER, seq - 1 };
	}
	return s;
}

TEST(each_player_keeps_its_order)
{
	struct bytecode *bytecode = begin_bytecode();
	static uint32_t player[STEPS + 1];
	uint64_t last[PLAYERS + 1] = { 0 };
	unsigned int dice = 7;

	for (uint64_t seq = 1; seq <= STEPS; seq++) {
		struct step s = random_step(seq, &dice);

		player[seq] = s.player;
		put_step(bytecode, s);
	}
	assert_int_equal(play_bytecode(bytecode, INT64_MAX), 0);
	assert_int_equal(seen.played, STEPS);
	assert_false(seen.early);
	assert_false(seen.behind);
	for (unsigned int i = 0; i < seen.played; i++) {
		assert_true(last[player[seen.order[i]]] < seen.order[i]);
		last[player[seen.order[i]]] = seen.order[i];
	}
}

/* Each step waits for the one before, which is another player's. */
TEST(a_chain_over_all_players_is_played_in_its_order)
{
	struct bytecode *bytecode = begin_bytecode();

	for (uint64_t seq = 1; seq <= STEPS; seq++) {
		struct step s = { .seq = seq, .player = 1 + seq % PLAYERS, .nwaits = seq > 1 };

		s.waits[0] = (struct wait){ 1 + (seq - 1) % PLAYERS, seq - 1 };
		put_step(bytecode, s);
	}
	assert_int_equal(play_bytecode(bytecode, INT64_MAX), 0);
	for (unsigned int i = 0; i < STEPS; i++)
		assert_int_equal(seen.order[i], i + 1);
}

/* The first step is done, which other threads see only at the end of a stretch. */
TEST(a_player_that_will_wait_publishes_its_progress)
{
	struct bytecode *bytecode = begin_bytecode();

	seen.waits = 2;
	seen.awaited = 3;
	put_step(bytecode, (struct step){ .seq = 1, .player = 1 });
	put_step(bytecode, (struct step){ .seq = 2, .player = 1 });
	put_step(bytecode,
		 (struct step){ .seq = 3, .player = 2, .nwaits = 1, .waits = { { 1, 1 } } });
	assert_int_equal(play_bytecode(bytecode, INT64_MAX), 0);
	assert_int_equal(seen.played, 3);
	assert_false(seen.early);
}

TEST(a_failure_ends_all)
{
	struct bytecode *bytecode = begin_bytecode();

	seen.fails = 100;
	for (uint64_t seq = 1; seq <= STEPS; seq++) {
		struct step s = { .seq = seq, .player = 1 + seq % PLAYERS, .nwaits = seq > 99 };

		s.waits[0] = (struct wait){ EVERY_PLAYER, seq - 1 };
		put_step(bytecode, s);
	}
	assert_int_equal(play_bytecode(bytecode, INT64_MAX), -EIO);
	assert_int_equal(seen.played, 100);
}

/* Two steps that wait for each other, which no schedule contains. */
TEST(a_wait_that_nothing_can_end_is_missed)
{
	struct bytecode *bytecode = begin_bytecode();

	for (uint64_t seq = 1; seq <= 4; seq++) {
		struct step s = { .seq = seq, .player = 2 - seq % 2, .nwaits = seq > 2 };

		s.waits[0] = (struct wait){ 1 + seq % 2, seq == 3 ? 4 : 3 };
		put_step(bytecode, s);
	}
	assert_int_equal(play_bytecode(bytecode, 50000000), 0);
	assert_true(seen.missed >= 1);
	assert_int_equal(seen.played, 4);
}
