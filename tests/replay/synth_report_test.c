/* replay/synth/synth_report.c: what the report says of ends that were synthesized. */
#include "replay/report/inferred.h"
#include "replay/synth/synth_priv.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { MR = 1, READ_MR, OWN_MR, QP, NOBJECTS };

static struct replay replay;
static struct synthesized far;
static struct inferred_list told;
static unsigned int ntold;

void outcome_set_inferred(struct outcome *outcome, struct inferred_list *list)
{
	(void)outcome;
	told = *list;
	ntold++;
}

static int begin_report(void **state)
{
	static uint32_t made[] = { MR, READ_MR, OWN_MR, QP };

	(void)state;
	nobjects = 0;
	ntold = 0;
	for (uint32_t i = MR; i < NOBJECTS; i++)
		add_object(i == QP ? OBJECT_qp : OBJECT_mr, 1, 0);
	far = (struct synthesized){ 0 };
	replay = (struct replay){ .far = &far, .made = made, .nmade = 4 };
	map_put(&far.access, MR, IBV_ACCESS_REMOTE_ATOMIC);
	map_put(&far.access, READ_MR, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_LOCAL_WRITE);
	map_put(&far.access, OWN_MR, IBV_ACCESS_LOCAL_WRITE);
	map_put(&far.access, QP, IBV_ACCESS_REMOTE_WRITE);
	return 0;
}

static int end_report(void **state)
{
	(void)state;
	map_fini(&far.access);
	inferred_fini(&told);
	return 0;
}

FIXTURE(begin_report, end_report);

TEST(hosts_with_ends_are_reported)
{
	struct synth_range ranges[] = { { .start = 100, .end = 150 },
					{ .start = 200, .end = 201 } };
	struct synth_region regions[] = { { 7, IBV_ACCESS_REMOTE_READ, ranges, 2 },
					  { 8, IBV_ACCESS_REMOTE_WRITE, ranges, 1 } };
	struct synth_host hosts[] = {
		{ .lid = 3 }, /* it was not needed after all */
		{ .lid = 4,
		  .nends = 2,
		  .receives = 5,
		  .messages = 6,
		  .placed = 1,
		  .regions = regions,
		  .nregions = 2 },
		{ .global = true, .gid.raw = { 0xfe, 0x80, [15] = 9 }, .nends = 1 },
		{ .global = true, .lid = 5, .gid.raw = { 0xfe, 0x80, [15] = 9 }, .nends = 1 },
		{ .nends = 1 },
	};

	(void)state;
	far.hosts = hosts;
	far.nhosts = 5;
	assert_int_equal(synth_report(&replay), 0);
	assert_int_equal(told.n, 4);
	assert_string_equal(told.at[0].address, "LID 4");
	assert_int_equal(told.at[0].queue_pairs, 2);
	assert_int_equal(told.at[0].receives, 5);
	assert_int_equal(told.at[0].messages, 6);
	assert_int_equal(told.at[0].placed, 1);
	assert_int_equal(told.at[0].regions, 2);
	assert_int_equal(told.at[0].nranges, 3);
	assert_int_equal(told.at[0].ranges[1].rkey, 7);
	assert_int_equal(told.at[0].ranges[1].access, IBV_ACCESS_REMOTE_READ);
	assert_int_equal(told.at[0].ranges[1].start, 200);
	assert_int_equal(told.at[0].ranges[1].length, 1);
	assert_int_equal(told.at[0].ranges[2].rkey, 8);
	assert_int_equal(told.at[0].ranges[2].length, 50);
	assert_string_equal(told.at[1].address, "fe80::9");
	assert_int_equal(told.at[1].nranges, 0);
	assert_string_equal(told.at[2].address, "LID 5");
	assert_string_equal(told.at[3].address, "LID 0");
	assert_int_equal(told.open, 2);
}

TEST(a_replay_of_both_ends_tells_none)
{
	(void)state;
	assert_int_equal(synth_report(&replay), 0);
	assert_int_equal(told.n, 0);
	assert_int_equal(told.open, 0);
	replay.far = NULL;
	assert_int_equal(synth_report(&replay), 0);
	assert_int_equal(ntold, 2);
}
