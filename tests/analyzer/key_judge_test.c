/*
 * analyzer/model/key_judge.c: whether a key allows what a request does
 *
 * Region 0x1000 + 0x100, made at 10 ns; a window on its first 0x80 bytes, bound at 20 ns. A request
 * of 16 bytes at 0x1010, posted at 50 ns and judged at 60 ns, reads it.
 */
#include "analyzer/model/key_judge.h"

#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/window.h"
#include "tests/test.h"

static struct key region, window;
static struct key_use use;
static struct key_judgement judgement;
static enum window_state bound;

enum window_state window_state(const struct model *model, const struct key *key)
{
	(void)model;
	assert_ptr_equal(key, &window);
	return bound;
}

bool window_make_key(const struct model *model, const struct key *key, int64_t time,
		     struct key *ret_key)
{
	(void)model;
	if (bound != WINDOW_BOUND || key->bind.at.time >= time)
		return false;
	*ret_key = *key;
	ret_key->addr = key->bind.addr;
	ret_key->length = key->bind.length;
	ret_key->access = key->bind.access;
	return true;
}

bool key_holds(const struct key *key, uint64_t addr, uint64_t length)
{
	return addr >= key->addr && addr + length <= key->addr + key->length;
}

static int begin_judge(void **state)
{
	(void)state;
	bound = WINDOW_BOUND;
	region = (struct key){ .kind = OBJECT_mr,
			       .state = KEY_LIVE,
			       .addr = 0x1000,
			       .length = 0x100,
			       .access = ABI_ACCESS_REMOTE_READ,
			       .pd = 0x70,
			       .created.time = 10 };
	window = (struct key){ .kind = OBJECT_mw,
			       .state = KEY_LIVE,
			       .pd = 0x70,
			       .created.time = 15,
			       .bind = { .at.time = 20,
					 .addr = 0x1000,
					 .length = 0x80,
					 .access = ABI_ACCESS_REMOTE_READ } };
	use = (struct key_use){ .pd = 0x70,
				.addr = 0x1010,
				.length = 16,
				.needed = ABI_ACCESS_REMOTE_READ,
				.posted = 50,
				.judged = 60 };
	return 0;
}

FIXTURE(begin_judge, NULL);

static enum key_fault fault_of(const struct key *key)
{
	key_judge(NULL, key, &use, &judgement);
	return judgement.fault;
}

TEST(what_fits_a_region_and_a_window_fits)
{
	(void)state;
	assert_int_equal(fault_of(&region), KEY_FITS);
	assert_true(judgement.ranged && judgement.same_pd);
	assert_int_equal(fault_of(&window), KEY_FITS);
	assert_int_equal(judgement.range.length, 0x80);
	assert_int_equal(fault_of(NULL), KEY_UNKNOWN);
	assert_false(judgement.ranged || judgement.same_pd || judgement.other_pd);
}

TEST(the_first_check_that_fails_is_the_fault)
{
	(void)state;
	use.needed = ABI_ACCESS_REMOTE_WRITE;
	assert_int_equal(fault_of(&region), KEY_NO_ACCESS);
	assert_int_equal(judgement.missing, ABI_ACCESS_REMOTE_WRITE);
	use.length = 0x1000;
	assert_int_equal(fault_of(&region), KEY_OUTSIDE);
	use.pd = 0x71;
	assert_int_equal(fault_of(&region), KEY_OTHER_PD);
	region.state = KEY_DEAD;
	region.destroyed.time = 55;
	assert_int_equal(fault_of(&region), KEY_GONE);
	assert_true(judgement.outside && judgement.other_pd && judgement.missing);
	region.pd = 0;
	fault_of(&region);
	assert_false(judgement.same_pd || judgement.other_pd);
}

TEST(a_window_has_the_range_and_the_access_of_its_bind)
{
	(void)state;
	use.addr = 0x1078; /* the region would hold it */
	assert_int_equal(fault_of(&window), KEY_OUTSIDE);
	use.addr = 0x1010;
	use.needed = ABI_ACCESS_REMOTE_WRITE;
	assert_int_equal(fault_of(&window), KEY_NO_ACCESS);
	use.posted = 20; /* the bind does not precede it */
	assert_int_equal(fault_of(&window), KEY_FITS);
	assert_false(judgement.ranged);
	use.posted = 21;
	assert_int_equal(fault_of(&window), KEY_NO_ACCESS);
	use.slack = 1;
	assert_int_equal(fault_of(&window), KEY_FITS);
}

TEST(a_window_that_is_not_bound_is_judged_after_its_domain)
{
	(void)state;
	bound = WINDOW_UNBOUND;
	assert_int_equal(fault_of(&window), KEY_UNBOUND);
	use.pd = 0x71;
	assert_int_equal(fault_of(&window), KEY_OTHER_PD);
	assert_int_equal(judgement.life, KEY_UNBOUND);
}

TEST(an_invalidated_window_is_invalid_whatever_became_of_it)
{
	(void)state;
	bound = WINDOW_INVALID;
	window.state = KEY_CHANGING; /* as its invalidation leaves it */
	window.invalid.at.time = 40;
	assert_int_equal(fault_of(&window), KEY_INVALID);
	window.state = KEY_DEAD;
	window.destroyed.time = 59;
	assert_int_equal(fault_of(&window), KEY_INVALID);
	use.slack = 20; /* by the other clock it may have been refused before */
	assert_int_equal(fault_of(&window), KEY_UNCERTAIN);
	bound = WINDOW_INVALIDATING;
	use.slack = 0;
	window.state = KEY_CHANGING;
	assert_int_equal(fault_of(&window), KEY_UNCERTAIN);
}

/* clang-format off */
static const struct moments {
	const char *name;
	int64_t created, destroyed; /* 0: it is alive */
	int64_t slack;
	enum key_fault fault;
} moments[] = {
	{ "alive_since_before", 10, 0, 50, KEY_FITS },
	{ "made_at_about_that_time", 10, 0, 51, KEY_UNCERTAIN },
	{ "made_later", 61, 0, 0, KEY_UNCERTAIN },
	{ "destroyed_before", 10, 60, 0, KEY_GONE },
	{ "destroyed_before_by_any_clock", 10, 55, 5, KEY_GONE },
	{ "destroyed_at_about_that_time", 10, 55, 6, KEY_UNCERTAIN },
	{ "destroyed_later", 10, 61, 0, KEY_UNCERTAIN },
	{ "the_clocks_are_not_related", 10, 0, INT64_MAX, KEY_UNCERTAIN },
};
/* clang-format on */

static void key_at_that_moment(void **state)
{
	const struct moments *row = *state;

	region.created.time = row->created;
	region.destroyed.time = row->destroyed;
	region.state = row->destroyed ? KEY_DEAD : KEY_LIVE;
	use.slack = row->slack;
	assert_int_equal(fault_of(&region), row->fault);
}

TEST_ROWS(moments, key_at_that_moment);

TEST(a_region_that_changes_is_uncertain)
{
	(void)state;
	region.state = KEY_CHANGING;
	assert_int_equal(fault_of(&region), KEY_UNCERTAIN);
}

TEST(a_queue_pair_lacks_only_what_it_is_known_to_lack)
{
	struct qp qp = { .access = ABI_ACCESS_REMOTE_READ };
	struct life life = { .qp = &qp };
	uint32_t needed = ABI_ACCESS_REMOTE_READ | ABI_ACCESS_REMOTE_WRITE;

	(void)state;
	assert_int_equal(keys_qp_lacks(&life, needed), 0);
	qp.set = ABI_QP_ACCESS_FLAGS;
	assert_int_equal(keys_qp_lacks(&life, needed), ABI_ACCESS_REMOTE_WRITE);
	life.qp = NULL;
	assert_int_equal(keys_qp_lacks(&life, needed), 0);
	assert_int_equal(keys_qp_lacks(NULL, needed), 0);
}
