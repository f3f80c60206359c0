/*
 * How far two sides of a comparison are apart: analyzer/diff/sample.c
 */
#include <math.h>

#include "analyzer/diff/sample.h"
#include "tests/test.h"

#define NEAR 0.001

static const struct row {
	const char *name;
	double of[2][4];
	size_t n[2];
	double between, width, least; /* least with 0.1 asked for */
	bool apart;
} rows[] = {
	{ "equal", { { 1, 1, 1 }, { 1, 1, 1 } }, { 3, 3 }, 0, 0, 0.1, false },
	{ "above", { { 1, 1.1, 1.2 }, { 2, 2.1, 2.2 } }, { 3, 3 }, 0.8, 0.376, 0.4, true },
	{ "below", { { 2, 2.1, 2.2 }, { 1, 1.1, 1.2 } }, { 3, 3 }, -0.8, 0.376, 0.4, true },
	{ "too few", { { 1, 1.1 }, { 2, 2.1, 2.2 } }, { 2, 3 }, 0.9, 0.483, 0.483, false },
	{ "too few after", { { 1, 1.1, 1.2 }, { 2, 2.1 } }, { 3, 2 }, 0.8, 0.483, 0.483, false },
	{ "touching", { { 1, 2, 3 }, { 3, 4, 5 } }, { 3, 3 }, 0, 3.759, 4, false },
	{ "as far as they vary", { { 1, 2, 3 }, { 5, 6, 7 } }, { 3, 3 }, 2, 3.759, 4, false },
	{ "a little farther", { { 1, 2, 3 }, { 5.1, 6, 7 } }, { 3, 3 }, 2.1, 3.677, 3.967, true },
	{ "one side varies", { { 1, 1, 1 }, { 4, 5, 6 } }, { 3, 3 }, 3, 5.730, 5.730, true },
	{ "the other varies", { { 4, 5, 6 }, { 1, 1, 1 } }, { 3, 3 }, -3, 5.730, 5.730, true },
	{ "more runs", { { 1, 1, 1, 2 }, { 1, 3, 3, 3 } }, { 4, 4 }, 0, 2.442, 4.25, false },
};

static void sample_is_as_computed(void **state)
{
	const struct row *row = *state;
	double of[2][4];
	struct sample sample = { { of[0], of[1] }, { row->n[0], row->n[1] } };

	memcpy(of, row->of, sizeof(of));
	assert_float_equal(sample_gap(&sample), row->between, NEAR);
	assert_float_equal(sample_width(&sample), row->width, NEAR);
	assert_float_equal(sample_min_effect(&sample, 0.1), row->least, NEAR);
	assert_int_equal(sample_is_apart(&sample), row->apart);
}

TEST_ROWS(rows, sample_is_as_computed);

TEST(what_is_asked_for_is_the_least)
{
	double of[] = { 1, 1, 1 };

	assert_float_equal(sample_min_effect(&(struct sample){ { of, of }, { 3, 3 } }, 7), 7, NEAR);
}
