/*
 * Players 1 to 4; objects are numbers.
 */
#include "replay/schedule/groups.h"
#include "tests/test.h"

enum { PLAYERS = 4, OBJECTS = 10, PROCESS = 1 };

static struct groups *groups;

static int begin_groups(void **state)
{
	(void)state;
	return groups_new(OBJECTS, PLAYERS, &groups);
}

static int end_groups(void **state)
{
	(void)state;
	groups_free(groups);
	return 0;
}

FIXTURE(begin_groups, end_groups);

static bool are_together(uint32_t a, uint32_t b)
{
	return groups_of(groups, a) == groups_of(groups, b);
}

TEST(players_without_a_common_object_are_apart)
{
	groups_use_object(groups, 1, 5);
	groups_use_object(groups, 2, 6);
	groups_use_object(groups, 1, 0);
	groups_use_object(groups, 2, 0);
	assert_false(are_together(1, 2));
	assert_int_equal(groups_count(groups), PLAYERS);
}

TEST(a_common_object_connects)
{
	groups_use_object(groups, 1, 5);
	groups_use_object(groups, 2, 5);
	assert_true(are_together(1, 2));
	assert_int_equal(groups_count(groups), PLAYERS - 1);
}

TEST(players_are_connected_through_a_third)
{
	groups_use_object(groups, 4, 5);
	groups_use_object(groups, 2, 5);
	groups_use_object(groups, 3, 6);
	groups_use_object(groups, 2, 6);
	assert_true(are_together(4, 3));
	assert_false(are_together(1, 3));
}

TEST(a_region_connects_those_who_name_its_keys)
{
	groups_use_region(groups, 1, PROCESS, 10, 11);
	groups_use_region(groups, 2, PROCESS, 20, 21);
	groups_use_key(groups, 1, PROCESS, 10, false);
	groups_use_key(groups, 2, PROCESS, 21, true);
	assert_false(are_together(1, 2));
	groups_use_key(groups, 3, PROCESS, 10, false);
	groups_use_key(groups, 4, PROCESS, 21, true);
	assert_true(are_together(1, 3));
	assert_true(are_together(2, 4));
}

TEST(keys_of_other_processes_are_others)
{
	groups_use_region(groups, 1, PROCESS, 10, 10);
	groups_use_region(groups, 2, PROCESS + 1, 10, 10);
	assert_false(are_together(1, 2));
}

/* The replay finds regions by their recorded keys, so the first must be gone before the second. */
TEST(a_key_that_is_used_again_connects)
{
	groups_use_region(groups, 1, PROCESS, 10, 11);
	groups_use_region(groups, 2, PROCESS, 10, 12);
	assert_true(are_together(1, 2));
}

TEST(an_unknown_key_connects_all)
{
	groups_use_key(groups, 3, PROCESS, 10, false);
	assert_int_equal(groups_count(groups), 1);
}

TEST(all_may_be_connected)
{
	groups_join_all(groups);
	assert_int_equal(groups_count(groups), 1);
	assert_true(are_together(1, PLAYERS));
}

TEST(free_accepts_null)
{
	groups_free(NULL);
}
