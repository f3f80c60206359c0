#include <errno.h>

#include "cli/record/spot.h"
#include "core/wire/desc.h"
#include "tests/test.h"

static struct stop_setting setting_of(const char *text)
{
	struct stop_setting set = { .finding = false };
	char complaint[OPTIONS_COMPLAINT];

	assert_int_equal(stop_read(text, &set, complaint), 0);
	return set;
}

TEST(words_add_up)
{
	struct stop_setting set = setting_of("error,ibv_modify_qp,IBV_WC_RNR_RETRY_EXC_ERR,every");

	assert_true(set.rule.on && set.rule.errors && set.rule.every && !set.finding);
	assert_true(stop_has_verb(&set.rule, VERB_modify_qp));
	assert_false(stop_has_verb(&set.rule, VERB_query_qp));
	assert_true(stop_has_status(&set.rule, 13));
	assert_false(stop_has_status(&set.rule, 12));
}

TEST(findings_are_not_the_programs_own_matter)
{
	struct stop_setting set = setting_of("finding");

	assert_true(set.finding && !set.rule.on);
}

TEST(what_means_nothing_is_refused)
{
	static const char *const texts[] = {
		"", "every", "IBV_WC_SUCCESS", "errors", "1:2", "error,no_verb",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct stop_setting set = { .finding = true };
		char complaint[OPTIONS_COMPLAINT];

		assert_int_equal(stop_read(texts[i], &set, complaint), -EINVAL);
		assert_true(set.finding && *complaint);
	}
}
