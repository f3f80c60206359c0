#include "core/wire/clock.h"
#include "tests/test.h"

TEST(start_is_zero)
{
	struct clock clock;

	clock_init(&clock);
	assert_int_equal(clock_ns(&clock, clock.start), 0);
}

TEST(before_the_start_is_negative)
{
	const struct clock clock = { .shift = 32, .mult = 1ull << 32, .start = 5000 };

	assert_int_equal(clock_ns(&clock, 4000), -1000);
	assert_int_equal(clock_ns(&clock, 0), -5000);
}

TEST(rate_is_applied)
{
	const struct clock half = { .shift = 32, .mult = 1ull << 31, .start = 0 };

	assert_int_equal(clock_ns(&half, 1000), 500);
}

/* 3 GHz, ten years: the product does not fit 64 bits. */
TEST(long_times_do_not_overflow)
{
	const struct clock clock = { .shift = 32, .mult = (1ull << 32) / 3, .start = 1ull << 60 };
	const uint64_t ticks = 3ull * 1000000000 * 86400 * 3650;

	assert_in_range(clock_ns(&clock, clock.start + ticks), 315359999000000000ull,
			315360001000000000ull);
}

TEST(sound_is_what_can_be_reckoned_with)
{
	const struct clock sound = { .shift = 63, .mult = (1ull << 62) - 1 };
	const struct clock odd[] = {
		{ .shift = 64, .mult = 1 },
		{ .shift = 32, .mult = 1ull << 62 },
		{ .shift = 32, .mult = 0 },
		{ .kind = CLOCK_KIND_TSC + 1, .shift = 32, .mult = 1 },
	};

	assert_true(clock_is_sound(&sound));
	clock_ns(&sound, UINT64_MAX); /* for a sanitizer */
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		assert_false(clock_is_sound(&odd[i]));
}

TEST(time_never_goes_back)
{
	struct clock clock;
	int64_t last = 0;

	clock_init(&clock);
	for (int i = 0; i < 100000; i++) {
		int64_t now = clock_ns(&clock, clock_ticks(clock.kind));

		assert_true(now >= last);
		last = now;
	}
}
