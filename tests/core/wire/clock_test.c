#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/wire/clock.h"

static void start_is_zero(void **state)
{
	struct clock clock;

	(void)state;
	clock_init(&clock);
	assert_int_equal(clock_ns(&clock, clock.start), 0);
}

static void before_the_start_is_negative(void **state)
{
	const struct clock clock = { .shift = 32, .mult = 1ull << 32, .start = 5000 };

	(void)state;
	assert_int_equal(clock_ns(&clock, 4000), -1000);
	assert_int_equal(clock_ns(&clock, 0), -5000);
}

static void rate_is_applied(void **state)
{
	const struct clock half = { .shift = 32, .mult = 1ull << 31, .start = 0 };

	(void)state;
	assert_int_equal(clock_ns(&half, 1000), 500);
}

/* 3 GHz, ten years: the product does not fit 64 bits. */
static void long_times_do_not_overflow(void **state)
{
	const struct clock clock = { .shift = 32, .mult = (1ull << 32) / 3, .start = 1ull << 60 };
	const uint64_t ticks = 3ull * 1000000000 * 86400 * 3650;

	(void)state;
	assert_in_range(clock_ns(&clock, clock.start + ticks), 315359999000000000ull,
			315360001000000000ull);
}

static void sound_is_what_can_be_reckoned_with(void **state)
{
	const struct clock sound = { .shift = 63, .mult = (1ull << 62) - 1 };
	const struct clock odd[] = {
		{ .shift = 64, .mult = 1 },
		{ .shift = 32, .mult = 1ull << 62 },
		{ .shift = 32, .mult = 0 },
		{ .kind = CLOCK_KIND_TSC + 1, .shift = 32, .mult = 1 },
	};

	(void)state;
	assert_true(clock_is_sound(&sound));
	clock_ns(&sound, UINT64_MAX); /* for a sanitizer */
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		assert_false(clock_is_sound(&odd[i]));
}

static void time_never_goes_back(void **state)
{
	struct clock clock;
	int64_t last = 0;

	(void)state;
	clock_init(&clock);
	for (int i = 0; i < 100000; i++) {
		int64_t now = clock_ns(&clock, clock_ticks(clock.kind));

		assert_true(now >= last);
		last = now;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_is_zero),
		cmocka_unit_test(before_the_start_is_negative),
		cmocka_unit_test(rate_is_applied),
		cmocka_unit_test(long_times_do_not_overflow),
		cmocka_unit_test(sound_is_what_can_be_reckoned_with),
		cmocka_unit_test(time_never_goes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
