/*
 * Units that are removed from a trace, with those that need them
 */
#include "cli/reduce/units.h"

#include "tests/test.h"

/*
 * Unit 0 makes a protection domain (1), 1 a region of it (2), 2 a queue pair of it (3), 3 is a
 * message of the queue pair, whose completion is from CQ 4.
 */
static struct unit list[] = { { UNIT_CALL, 1, 1, false, false, 0 },
			      { UNIT_CALL, 1, 1, false, false, 0 },
			      { UNIT_CALL, 1, 1, false, false, 0 },
			      { UNIT_MESSAGE, 1, 2, false, false, 0 } };
static struct unit_row rows[] = { { { 1, 1 }, 0, 0, 0, 0 },
				  { { 1, 2 }, 0, 1, 0, 0 },
				  { { 1, 3 }, 0, 2, 0, 0 },
				  { { 2, 1 }, 0, 3, 3, 0 },
				  { { 2, 2 }, 0, 3, 3, 4 } };
static struct unit_need calls[] = { { 0, 1 }, { 1, 1 }, { 1, 2 }, { 2, 1 }, { 2, 3 } };
static struct unit_need objects[] = { { 2, 1 }, { 3, 1 } };
static struct unit_need made[] = { { 0, 1 }, { 1, 2 }, { 2, 3 } };
static const struct units units = {
	.units = list,
	.count = 4,
	.rows = rows,
	.nrows = 5,
	.calls = calls,
	.ncalls = 5,
	.objects = objects,
	.nobjects = 2,
	.made = made,
	.nmade = 3,
	.most = 4,
};

static bool leaves_row(const struct removal *removal, uint32_t thread, uint64_t n)
{
	return removal_keeps_row(removal, units_find(&units, (struct event_id){ thread, n }, 0));
}

TEST(rows_are_found_by_event_and_index)
{
	assert_ptr_equal(units_find(&units, (struct event_id){ 2, 2 }, 0), &rows[4]);
	assert_null(units_find(&units, (struct event_id){ 2, 2 }, 1));
	assert_null(units_find(&units, (struct event_id){ 3, 1 }, 0));
}

TEST(an_object_takes_what_is_made_of_it)
{
	struct removal removal;

	assert_int_equal(removal_init(&removal, &units), 0);
	assert_true(leaves_row(&removal, 1, 1) && leaves_row(&removal, 2, 1));
	removal_add_object(&removal, 1);
	assert_true(removal.gone_objects[2] && removal.gone_objects[3]);
	assert_false(leaves_row(&removal, 1, 1) || leaves_row(&removal, 1, 2) ||
		     leaves_row(&removal, 2, 1));
	removal_fini(&removal);
}

TEST(a_call_takes_what_it_makes)
{
	struct removal removal;

	assert_int_equal(removal_init(&removal, &units), 0);
	removal_add_unit(&removal, 2);
	assert_true(removal.gone_objects[3]);
	assert_true(leaves_row(&removal, 1, 1) && leaves_row(&removal, 1, 2));
	assert_false(leaves_row(&removal, 1, 3) || leaves_row(&removal, 2, 1));
	removal_fini(&removal);
}

TEST(a_completion_queue_takes_its_completions_alone)
{
	struct removal removal;

	assert_int_equal(removal_init(&removal, &units), 0);
	removal_add_object(&removal, 4);
	assert_true(leaves_row(&removal, 2, 1));
	assert_false(leaves_row(&removal, 2, 2));
	removal_fini(&removal);
}

TEST(a_hash_is_that_of_the_events_that_are_left)
{
	struct removal a, b;

	assert_int_equal(removal_init(&a, &units), 0);
	assert_int_equal(removal_init(&b, &units), 0);
	removal_add_unit(&a, 3);
	assert_true(removal_hash(&a) != removal_hash(&b));
	removal_copy(&b, &a);
	assert_int_equal(removal_hash(&a), removal_hash(&b));
	removal_add_object(&b, 2);
	assert_true(removal_hash(&a) != removal_hash(&b));
	removal_fini(&a);
	removal_fini(&b);
}

TEST(what_has_no_row_stays)
{
	const struct excerpt_item item = { .kind = EXCERPT_POST, .id = { 2, 1 } };
	struct removal removal;

	assert_int_equal(removal_init(&removal, &units), 0);
	removal_add_unit(&removal, 3);
	assert_true(removal_has(&removal, &item));
	removal_fini(&removal);
}
