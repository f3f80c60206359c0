/* analyzer/rules/findings.c: which findings are stored, and how many are counted. */
#include "analyzer/rules/findings.h"

#include <stdlib.h>

#include "analyzer/report/known.h"
#include "analyzer/rules/rule.h"
#include "tests/test.h"

static struct findings *findings;

static int make_findings(void **state)
{
	(void)state;
	findings = calloc(1, sizeof(*findings));
	return findings ? 0 : -1;
}

static int free_findings(void **state)
{
	(void)state;
	findings_free(findings);
	return 0;
}

FIXTURE(make_findings, free_findings);

TEST(ten_of_a_site_are_stored_and_all_are_counted)
{
	for (int i = 1; i <= FINDINGS_SHOWN + 3; i++) {
		struct finding *finding = findings_add(findings, RULE_MKEY_001, 7);

		assert_int_equal(finding != NULL, i <= FINDINGS_SHOWN);
		assert_int_equal(findings->rules[RULE_MKEY_001], i);
	}
	assert_int_equal(findings->n, FINDINGS_SHOWN);
	assert_int_equal(findings->all[0]->site->count, FINDINGS_SHOWN + 3);
}

TEST(each_site_and_each_rule_has_its_own)
{
	for (int i = 0; i < FINDINGS_SHOWN; i++)
		assert_non_null(findings_add(findings, RULE_MKEY_001, 7));
	assert_non_null(findings_add(findings, RULE_MKEY_001, 7 + 256)); /* of the same bucket */
	assert_non_null(findings_add(findings, RULE_MKEY_002, 7));
	assert_null(findings_add(findings, RULE_MKEY_001, 7));
	assert_int_equal(findings->n, FINDINGS_SHOWN + 2);
}

TEST(a_hazard_is_counted_apart_from_findings)
{
	struct finding *finding = findings_add(findings, RULE_MKEY_005, 7);
	struct finding *hazard = findings_add_hazard(findings, RULE_MKEY_005, 7);

	assert_ptr_not_equal(finding->site, hazard->site);
	assert_int_equal(finding_severity(finding), 'E');
	assert_int_equal(finding_severity(hazard), 'H');
	findings_add_hazard(findings, RULE_MKEY_005, 7);
	assert_int_equal(findings->rules[RULE_MKEY_005], 1);
	assert_int_equal(findings->hazards[RULE_MKEY_005], 2);
	assert_int_equal(findings_count(findings, 'E'), 1);
	assert_int_equal(findings_count(findings, 'H'), 2);
	finding->known = FINDING_BASELINE;
	assert_int_equal(findings_count(findings, 'E'), 0);
	assert_int_equal(findings_count(findings, 'H'), 2);
	hazard->known = FINDING_BASELINE;
	assert_int_equal(findings_count(findings, 'H'), 1);
}

TEST(a_group_of_hazards_is_one)
{
	struct finding *first = findings_group_hazard(findings, RULE_MKEY_005, 7, true);

	assert_ptr_equal(findings_group_hazard(findings, RULE_MKEY_005, 7, true), first);
	assert_ptr_not_equal(findings_group(findings, RULE_MKEY_005, 7, true), first);
	assert_int_equal(findings->hazards[RULE_MKEY_005], 2);
	assert_int_equal(finding_times(first), 2);
}

/* One that another one tells is known if that is, as often as it happened. */
TEST(what_is_known_is_not_new)
{
	struct finding *group = findings_group(findings, RULE_MKEY_005, 7, true);
	struct finding *teller = findings_add(findings, RULE_MKEY_001, 7);
	struct finding *hidden;

	findings_group(findings, RULE_MKEY_005, 7, true);
	findings_add(findings, RULE_MKEY_005, 8);
	hidden = findings_add(findings, RULE_MKEY_005, 9);
	findings->n--; /* the last */
	findings_hide(findings, hidden, teller);
	assert_int_equal(finding_times(group), 2);
	assert_int_equal(findings_count_new(findings, RULE_MKEY_005), 4);
	group->known = FINDING_BASELINE;
	assert_int_equal(findings_count_new(findings, RULE_MKEY_005), 2);
	teller->known = FINDING_BASELINE;
	assert_int_equal(findings_count_new(findings, RULE_MKEY_005), 1);
	assert_int_equal(findings_count_new(findings, RULE_MKEY_001), 0);
	assert_int_equal(findings_count_new_hazards(findings, RULE_MKEY_005), 0);
}

TEST(hazards_can_be_muted_alone)
{
	findings->no_hazards = true;
	assert_null(findings_add_hazard(findings, RULE_MKEY_005, 7));
	assert_int_equal(findings->hazards[RULE_MKEY_005], 0);
	assert_non_null(findings_add(findings, RULE_MKEY_005, 7));
}

TEST(what_is_muted_or_carried_is_neither_stored_nor_counted)
{
	findings->off[RULE_MKEY_001] = true;
	findings->skip[RULE_MKEY_002] = true;
	assert_null(findings_add(findings, RULE_MKEY_001, 1));
	assert_null(findings_add(findings, RULE_MKEY_002, 1));
	findings->carried = true;
	assert_null(findings_add(findings, RULE_MKEY_003, 1));
	assert_null(findings_group(findings, RULE_MKEY_003, 1, true));
	assert_int_equal(findings->n, 0);
	for (int i = 0; i < RULE_COUNT; i++)
		assert_int_equal(findings->rules[i], 0);
}

TEST(group_is_one_finding_that_counts)
{
	struct finding *first = findings_group(findings, RULE_MKEY_001, 7, false);

	assert_non_null(first);
	assert_int_equal(findings->rules[RULE_MKEY_001], 0);
	for (int i = 1; i <= FINDINGS_SHOWN + 3; i++) {
		assert_ptr_equal(findings_group(findings, RULE_MKEY_001, 7, true), first);
		assert_int_equal(findings->rules[RULE_MKEY_001], i);
	}
	assert_int_equal(findings->n, 1);
}

TEST(steps_of_a_finding_are_bounded)
{
	struct finding *finding = findings_add(findings, RULE_MKEY_001, 7);
	const struct moment unknown = { .process = 1 }, known = { .time = 5 };

	finding_step(finding, "created", &unknown);
	assert_int_equal(finding->nsteps, 0);
	for (unsigned int i = 1; i <= FINDING_STEPS + 2; i++) {
		finding_step(finding, "used", &known);
		assert_int_equal(finding->nsteps, i <= FINDING_STEPS ? i : FINDING_STEPS);
	}
}
