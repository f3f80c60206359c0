#include <string.h>

#include "core/faults/link_model.h"
#include "tests/test.h"

TEST(all_parts_are_read)
{
	struct link_model m;

	assert_null(link_model_read(" delay=5us±1.5us rate=10Gbit loss=0.1% duplicate=1% reorder=2%"
				    " corrupt=100% ecn=5% cut=2s+10ms seed=7 ",
				    &m));
	assert_int_equal(m.delay, 5000);
	assert_int_equal(m.jitter, 1500);
	assert_int_equal(m.rate, 10000000000);
	assert_int_equal(m.loss, 1000);
	assert_int_equal(m.duplicate, 10000);
	assert_int_equal(m.reorder, 20000);
	assert_int_equal(m.corrupt, 1000000);
	assert_int_equal(m.ecn, 50000);
	assert_int_equal(m.cut_from, 2000000000);
	assert_int_equal(m.cut_for, 10000000);
	assert_int_equal(m.seed, 7);
}

TEST(wrong_parts_are_named)
{
	static const char *const wrong[] = {
		"loss=1",    "loss=101%", "loss=-1%", "delay=5",  "delay=5us±", "speed=1%",
		"rate=1bit", "loss",      "loss=",    "loss=1%x", "seed=x",     "delay=5us±1us±1us",
		"loss=nan%", "cut=1s",    "cut=1s+",  "cut=1s+x", "ecn=5",
	};
	struct link_model m;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_ptr_equal(link_model_read(wrong[i], &m), wrong[i]);
}

TEST(parts_happen_as_often_as_asked)
{
	struct link_model m;
	unsigned int lost = 0, twice = 0, corrupt = 0, marked = 0, i;
	struct link_fate fate;

	assert_null(link_model_read("loss=1% duplicate=5% corrupt=10% ecn=3%", &m));
	for (i = 0; i < 100000; i++) {
		fate = link_model_judge(&m, 100, 1);
		lost += fate.lost;
		twice += fate.twice;
		corrupt += !!fate.corrupt;
		marked += fate.marked;
		assert_true(fate.corrupt <= 800);
		assert_int_equal(fate.due, 1);
	}
	assert_in_range(lost, 950, 1050);
	assert_in_range(twice, 4750, 5250);
	assert_in_range(corrupt, 9500, 10500);
	assert_in_range(marked, 2850, 3150);
}

/* From the first packet on, whatever the clock says. */
TEST(a_cut_link_is_mended)
{
	static const struct {
		uint64_t at;
		bool lost;
	} packets[] = {
		{ 0, false }, { 19999, false }, { 20000, true }, { 49999, true }, { 50000, false },
	};
	struct link_model m;
	size_t i;

	assert_null(link_model_read("cut=20us+30us", &m));
	for (i = 0; i < sizeof(packets) / sizeof(*packets); i++)
		assert_int_equal(link_model_judge(&m, 100, 5000000 + packets[i].at).lost,
				 packets[i].lost);
}

TEST(the_same_seed_gives_the_same)
{
	struct link_model a, b;
	struct link_fate x, y;
	int i;

	assert_null(link_model_read("loss=10% delay=5us±2us seed=3", &a));
	b = a;
	for (i = 0; i < 1000; i++) {
		x = link_model_judge(&a, 100, i);
		y = link_model_judge(&b, 100, i);
		assert_int_equal(x.lost, y.lost);
		assert_int_equal(x.due, y.due);
	}
}

TEST(only_reordered_packets_are_overtaken)
{
	struct link_model m;
	struct link_fate fate;
	uint64_t last = 0;
	unsigned int later = 0;
	int i;

	assert_null(link_model_read("delay=100us±100us reorder=10%", &m));
	for (i = 0; i < 10000; i++) {
		fate = link_model_judge(&m, 100, i * 100);
		if (fate.due >= i * 100 + 200000u && fate.due > last) {
			later++;
			continue;
		}
		assert_true(fate.due >= last);
		last = fate.due;
	}
	assert_in_range(later, 500, 1100);
}

TEST(rate_spaces_packets)
{
	struct link_model m;
	int i;

	assert_null(link_model_read("rate=1Gbit", &m));
	for (i = 1; i <= 10; i++)
		assert_int_equal(link_model_judge(&m, 1000, 5).due, 5 + i * 8000);
}
