#include "core/model/fit.h"
#include "tests/test.h"

TEST(psns_have_24_bits)
{
	assert_true(fit_psn(0x1000005, 5));
	assert_false(fit_psn(5, 6));
}

/* In both directions: whether they fit on one host, and on two with a matching PSN. */
static const struct fit_case {
	enum placed there, back;
	bool one, two;
} cases[] = {
	{ PLACED_AT_PORT, PLACED_AT_PORT, true, true },
	{ PLACED_AT_PORT, PLACED_PERHAPS, true, false },
	{ PLACED_PERHAPS, PLACED_AT_PORT, true, false },
	{ PLACED_PERHAPS, PLACED_PERHAPS, true, false },
	{ PLACED_ELSEWHERE, PLACED_AT_PORT, false, false },
	{ PLACED_AT_PORT, PLACED_ELSEWHERE, false, false },
};

TEST(two_hosts_must_be_known_to_fit)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct fit_case *c = &cases[i];

		assert_int_equal(fit_ends(c->there, c->back, false, false), c->one);
		assert_int_equal(fit_ends(c->there, c->back, true, true), c->two);
		assert_false(fit_ends(c->there, c->back, false, true));
	}
}
