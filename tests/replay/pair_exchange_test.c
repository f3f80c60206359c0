/*
 * replay/two_host/pair_exchange.c: messages that are sent, and which of the received ones are
 * accepted.
 */
#include <errno.h>

#include "core/base/vec.h"
#include "replay/report/pace.h"
#include "replay/two_host/pack.h"
#include "replay/two_host/pair_priv.h"
#include "tests/test.h"

enum { MOST = 64 };

static struct message {
	uint16_t type;
	size_t length;
	uint8_t bytes[64];
} sent[MOST];
static unsigned int nsent, nwoken, nstopped;

static struct line_user user;
static int64_t now;
static char line_memory;
static struct line *const line = (struct line *)(void *)&line_memory;

static struct replay replay;
static struct pair pair;
static struct pair_other_life there[2];
static struct pair_count counts[2][3];
static uint32_t changed[2][3];
static uint64_t credits[2];
static struct pair_life its_lives[2];
static struct pair_stream its_streams[2];

void line_send(struct line *to, uint16_t type, const void *bytes, size_t length)
{
	assert_ptr_equal(to, line);
	assert_true(nsent < MOST);
	sent[nsent].type = type;
	sent[nsent].length = length;
	if (length <= sizeof(sent->bytes) && length)
		memcpy(sent[nsent].bytes, bytes, length);
	nsent++;
}

void line_wake(struct line *to)
{
	assert_ptr_equal(to, line);
	nwoken++;
}

int line_open(struct wire *wire, const struct line_user *of, struct line **ret_line)
{
	assert_ptr_equal(wire, &line_memory);
	user = *of;
	*ret_line = line;
	return 0;
}

int64_t wire_now(void)
{
	return now;
}

void pace_end(void)
{
	nstopped++;
}

void outcome_stop(struct outcome *outcome, const char *why)
{
	(void)outcome;
	assert_string_equal(why, "ended with the other host's replay");
}

static int begin_talk(void **state)
{
	(void)state;
	nsent = nwoken = nstopped = 0;
	now = 5000;
	memset(there, 0, sizeof(there));
	memset(counts, 0, sizeof(counts));
	memset(credits, 0, sizeof(credits));
	pair = (struct pair){ .r = &replay,
			      .wire = (struct wire *)(void *)&line_memory,
			      .its = { .nports = 1,
				       .lives = its_lives,
				       .nlives = 2,
				       .streams = its_streams,
				       .nstreams = 2 },
			      .there = there,
			      .credits = credits,
			      .credit = { PAIR_CREDIT, counts[0], changed[0], 0 },
			      .done = { PAIR_DONE, counts[1], changed[1], 0 } };
	pthread_mutex_init(&pair.lock, NULL);
	return pair_exchange(&pair);
}

static int end_talk(void **state)
{
	(void)state;
	map_fini(&pair.key_of);
	free(pair.keys);
	return pthread_mutex_destroy(&pair.lock);
}

FIXTURE(begin_talk, end_talk);

static int take_numbers(uint16_t type, const uint64_t *numbers, size_t n)
{
	uint8_t bytes[64];
	struct pack pack = { .at = bytes, .end = bytes + sizeof(bytes) };

	for (size_t i = 0; i < n; i++)
		pack_u64(&pack, numbers[i]);
	return user.take(&pair, type, bytes, n * 8);
}

#define TAKE(type, ...)                                       \
	take_numbers(type, (const uint64_t[]){ __VA_ARGS__ }, \
		     sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8)

static uint64_t number_of(unsigned int i, unsigned int k)
{
	struct unpack u = { .at = sent[i].bytes + k * 8, .end = sent[i].bytes + 64 };

	return unpack_u64(&u);
}

TEST(the_wire_is_passed_to_the_line)
{
	(void)state;
	assert_null(pair.wire);
	assert_ptr_equal(pair.line, line);
	assert_ptr_equal(user.arg, &pair);
}

TEST(numbers_go_as_they_are)
{
	(void)state;
	pair_send(&pair, PAIR_KEY, (const uint64_t[]){ 1, 2, 3, 4, 1ull << 63 }, 5);
	assert_int_equal(nsent, 1);
	assert_int_equal(sent[0].type, PAIR_KEY);
	assert_int_equal(sent[0].length, 40);
	assert_int_equal(number_of(0, 0), 1);
	assert_int_equal(number_of(0, 4), 1ull << 63);
}

TEST(a_counter_goes_once_with_its_last_value)
{
	(void)state;
	pair_send_count(&pair, &pair.credit, 1, 5);
	pair_send_count(&pair, &pair.credit, 1, 6);
	pair_send_count(&pair, &pair.credit, 2, 6);
	pair_send_count(&pair, &pair.done, 0, 0); /* the value is unchanged */
	pair_send_count(&pair, &pair.done, 1, 9);
	assert_int_equal(nwoken, 5);
	assert_int_equal(nsent, 0);
	user.before(&pair, now);
	assert_int_equal(nsent, 3);
	assert_int_equal(sent[0].type, PAIR_CREDIT);
	assert_int_equal(sent[0].length, 16);
	assert_int_equal(number_of(0, 0), 1);
	assert_int_equal(number_of(0, 1), 6);
	assert_int_equal(number_of(1, 0), 2);
	assert_int_equal(sent[2].type, PAIR_DONE);
	assert_int_equal(number_of(2, 0), 1);
	assert_int_equal(number_of(2, 1), 9);
	user.before(&pair, now);
	assert_int_equal(nsent, 3);
	pair_send_count(&pair, &pair.credit, 1, 6);
	user.before(&pair, now);
	assert_int_equal(nsent, 3);
	pair_send_count(&pair, &pair.credit, 1, 7);
	user.before(&pair, now);
	assert_int_equal(nsent, 4);
}

TEST(steps_go_when_they_change_and_each_second)
{
	(void)state;
	pair.steps = 3;
	user.before(&pair, 7);
	assert_int_equal(nsent, 1);
	assert_int_equal(sent[0].type, PAIR_STEPS);
	assert_int_equal(sent[0].length, 8);
	assert_int_equal(number_of(0, 0), 3);
	user.before(&pair, 1000000007);
	assert_int_equal(nsent, 1);
	user.before(&pair, 1000000008);
	assert_int_equal(nsent, 2);
	user.before(&pair, 1000000009);
	assert_int_equal(nsent, 2);
	pair.steps = 4;
	user.before(&pair, 1000000009);
	assert_int_equal(nsent, 3);
	pair.steps = 5;
	pair.line = NULL; /* not yet */
	user.before(&pair, 1000000010);
	assert_int_equal(nsent, 3);
}

TEST(the_table_goes_part_by_part)
{
	struct pair_life lives[2] = { 0 };
	struct pair_use use = { 0 };

	(void)state;
	pair.mine = (struct pair_table){ .lives = lives, .nlives = 2, .uses = &use, .nuses = 1 };
	assert_int_equal(pair_send_table(&pair), 0);
	assert_int_equal(nsent, 4);
	assert_int_equal(sent[0].type, PAIR_LIFE);
	assert_int_equal(sent[1].type, PAIR_LIFE);
	assert_int_equal(sent[2].type, PAIR_USE);
	assert_int_equal(sent[2].length, 16);
	assert_int_equal(sent[3].type, PAIR_TABLE_END);
	assert_int_equal(sent[3].length, 0);
}

TEST(parts_come_until_the_table_ends)
{
	const uint8_t use[16] = { 1 };

	(void)state;
	pair.its = (struct pair_table){ 0 };
	assert_int_equal(user.take(&pair, PAIR_USE, use, 16), 0);
	assert_int_equal(pair.its.nuses, 1);
	assert_int_equal(user.take(&pair, PAIR_USE, use, 15), -EBADMSG);
	assert_int_equal(user.take(&pair, PAIR_STREAM, use, 15), -EBADMSG);
	pair.its.nstreams = 0;
	assert_false(pair.its_table);
	assert_int_equal(user.take(&pair, PAIR_TABLE_END, NULL, 0), -EBADMSG); /* of no life */
	assert_true(pair.its_table);
	assert_int_equal(user.take(&pair, PAIR_USE, use, 16), -EBADMSG);
	pair.its.nuses = 0;
	assert_int_equal(user.take(&pair, PAIR_TABLE_END, NULL, 0), 0);
	pair_table_fini(&pair.its);
}

TEST(the_state_of_a_life_is_noted)
{
	(void)state;
	assert_int_equal(TAKE(PAIR_MADE, 1, 77), 0);
	assert_true(there[1].made);
	assert_int_equal(there[1].number, 77);
	assert_int_equal(TAKE(PAIR_LISTEN, 1), 0);
	assert_true(there[1].listens);
	assert_false(there[1].gone);
	assert_int_equal(TAKE(PAIR_DONE, 1, 12), 0);
	assert_int_equal(there[1].done, 12);
	assert_int_equal(TAKE(PAIR_GONE, 1), 0);
	assert_true(there[1].gone);
	assert_false(there[0].made || there[0].listens || there[0].gone || there[0].done);
	assert_int_equal(TAKE(PAIR_LISTEN, 2), -EBADMSG);
	pair.there = NULL;
	assert_int_equal(TAKE(PAIR_LISTEN, 1), -EBADMSG);
}

TEST(credits_are_those_of_a_stream)
{
	(void)state;
	assert_int_equal(TAKE(PAIR_CREDIT, 1, 4), 0);
	assert_int_equal(credits[1], 4);
	assert_int_equal(credits[0], 0);
	assert_int_equal(TAKE(PAIR_CREDIT, 2, 4), -EBADMSG);
	pair.credits = NULL;
	assert_int_equal(TAKE(PAIR_CREDIT, 1, 4), -EBADMSG);
}

static const struct pair_key *find_key(uint32_t process, uint32_t rkey)
{
	uint64_t at;

	return map_get(&pair.key_of, process_key(process, rkey), &at) ? &pair.keys[at - 1] : NULL;
}

TEST(the_last_key_of_a_number_counts)
{
	(void)state;
	assert_int_equal(TAKE(PAIR_KEY, 1, 2, 30, 40, 50), 0);
	assert_int_equal(TAKE(PAIR_KEY, 3, 2, 31, 41, 51), 0);
	assert_int_equal(find_key(1, 2)->rkey, 30);
	assert_int_equal(find_key(1, 2)->recorded_base, 40);
	assert_int_equal(find_key(1, 2)->replayed_base, 50);
	assert_int_equal(find_key(3, 2)->rkey, 31);
	assert_int_equal(TAKE(PAIR_CLOSED, 1, 2), 0);
	assert_true(find_key(1, 2)->gone);
	assert_false(find_key(3, 2)->gone);
	assert_int_equal(TAKE(PAIR_KEY, 1, 2, 32, 42, 52), 0);
	assert_int_equal(find_key(1, 2)->rkey, 32);
	assert_int_equal(find_key(3, 2)->rkey, 31);
	assert_false(find_key(1, 2)->gone);
	assert_int_equal(pair.nkeys, 2);
	assert_int_equal(TAKE(PAIR_CLOSED, 1, 3), 0); /* an unknown key */
	assert_null(find_key(1, 3));
	pair.nkeys = 1 << 22;
	assert_int_equal(TAKE(PAIR_KEY, 1, 4, 32, 42, 52), -ENOMEM);
	pair.nkeys = 2;
}

TEST(it_moves_while_its_steps_change)
{
	(void)state;
	assert_int_equal(TAKE(PAIR_STEPS, 0), 0);
	assert_int_equal(pair.moved, 0);
	assert_int_equal(TAKE(PAIR_STEPS, 3), 0);
	assert_int_equal(pair.moved, 5000);
	now = 6000;
	assert_int_equal(TAKE(PAIR_STEPS, 3), 0);
	assert_int_equal(pair.moved, 5000);
	assert_int_equal(pair.its_steps, 3);
}

TEST(ready_and_end_are_noted)
{
	(void)state;
	assert_int_equal(user.take(&pair, PAIR_READY, NULL, 0), 0);
	assert_true(pair.its_ready);
	assert_false(pair.its_end);
	assert_int_equal(TAKE(PAIR_END, 0), 0);
	assert_true(pair.its_end);
	assert_false(pair.its_differs);
	assert_int_equal(TAKE(PAIR_END, 1), 0);
	assert_true(pair.its_differs);
	user.lost(&pair, -ECONNRESET); /* the other replay may end now */
	assert_int_equal(nstopped, 0);
	assert_int_equal(pair.err, -ECONNRESET);
}

TEST(a_message_of_another_length_or_type_is_refused)
{
	static const uint8_t lengths[] = {
		[PAIR_TABLE_END] = 0, [PAIR_READY] = 0,  [PAIR_STEPS] = 1,  [PAIR_MADE] = 2,
		[PAIR_LISTEN] = 1,    [PAIR_LEAVES] = 1, [PAIR_GONE] = 1,   [PAIR_CREDIT] = 2,
		[PAIR_DONE] = 2,      [PAIR_KEY] = 5,    [PAIR_CLOSED] = 2, [PAIR_END] = 1
	};
	uint64_t numbers[6] = { 0 };

	(void)state;
	for (uint16_t type = PAIR_TABLE_END; type < PAIR_BYE; type++)
		for (size_t n = 0; n < 6; n++)
			assert_int_equal(take_numbers(type, numbers, n),
					 n == lengths[type] ? 0 : -EBADMSG);
	assert_int_equal(user.take(&pair, PAIR_BYE + 1, NULL, 0), -EBADMSG);
	assert_int_equal(user.take(&pair, UINT16_MAX, NULL, 0), -EBADMSG);
}

static int take_bye(const char *text, size_t more)
{
	uint8_t bytes[256] = { 0 };
	struct pack pack = { .at = bytes, .end = bytes + sizeof(bytes) };

	pack_text(&pack, text);
	return user.take(&pair, PAIR_BYE, bytes, (size_t)(pack.at - bytes) + more);
}

TEST(an_early_end_stops_this_one_and_says_why)
{
	(void)state;
	assert_int_equal(take_bye("early, as requested", 1), -EBADMSG);
	assert_int_equal(nstopped, 0);
	assert_int_equal(take_bye("early, as requested", 0), 0);
	assert_string_equal(pair.bye, "early, as requested");
	assert_int_equal(nstopped, 1);
	assert_int_equal(take_bye("", 0), 0);
	assert_string_equal(pair.bye, "for an unknown reason");
}

TEST(a_lost_line_stops_this_one)
{
	(void)state;
	user.lost(&pair, -ETIMEDOUT);
	assert_int_equal(pair.err, -ETIMEDOUT);
	assert_int_equal(nstopped, 1);
}
