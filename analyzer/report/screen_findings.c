/*
 * The findings of the first screen: one entry for each rule and place
 *
 * 	findings (1 error of 58 rules)
 * 	  E LIFE-001 use-after-destroy   1:45   acknowledge_events (app.c:55)
 * 	    what happened
 * 	    to do: what to change
 *
 * If there are many hazards, each has one line.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/known.h"
#include "analyzer/model/words.h"
#include "analyzer/report/screen.h"
#include "analyzer/report/sentence.h"
#include "analyzer/rules/add_finding.h"
#include "core/wire/hash.h"

enum {
	HAZARD_LINES = 4, /* the most hazards that are printed in full */
};

static void put_rules(struct text *t, const struct findings *findings)
{
	unsigned int checked = 0, muted = 0;

	for (int i = 0; i < RULE_COUNT; i++) {
		muted += findings->off[i];
		checked += findings_checked(findings, (enum rule_id)i);
	}
	text_addf(t, "; %u of %d rules", checked, RULE_COUNT);
	if (muted)
		text_addf(t, ", %u muted", muted);
}

/* The findings that the user has accepted. */
static void put_known(struct text *t, const struct report *report)
{
	struct report copy = *report;
	char *known = NULL;
	size_t size = 0;

	copy.out = open_memstream(&known, &size);
	if (!copy.out)
		return;
	suppressions_print_sum(&copy);
	fclose(copy.out);
	if (known)
		text_addf(t, "%s", known);
	free(known);
}

static void print_sums(struct screen *screen)
{
	const struct findings *findings = screen->report->findings;
	struct text t = { 0 }, sums = { 0 };

	screen_put_part(&sums, findings_count(findings, 'E'), "error", "errors");
	screen_put_part(&sums, findings_count(findings, 'W'), "warning", "warnings");
	screen_put_part(&sums, findings_count(findings, 'H'), "hazard", "hazards");
	screen_put_part(&sums, findings_count(findings, 'P'), "on performance", "on performance");
	screen_put_part(&sums, findings_count(findings, 'I'), "information", "informations");
	text_addf(&t, "findings (%s", sums.used ? sums.at : "0");
	put_rules(&t, findings);
	put_known(&t, screen->report);
	text_addf(&t, ")");
	wrap_mark(&screen->spans, 0, t.used, STYLE_HEAD);
	screen_print_wrapped(screen, 0, &t);
	text_fini(&sums);
	text_fini(&t);
}

/* The first sentence of the advice. */
static void put_advice(struct text *t, const struct finding *finding)
{
	const char *advice = finding_advice(finding);
	const char *end = strstr(advice, ". ");

	text_addf(t, "to do: %.*s", end ? (int)(end - advice) + 1 : (int)strlen(advice), advice);
}

/* The place of the finding's event, which is the last step of most findings. */
static uint32_t find_place(const struct finding *finding)
{
	uint32_t stack = 0;

	for (unsigned int i = 0; i < finding->nsteps; i++) {
		const struct moment *moment = &finding->steps[i].moment;

		stack = moment->stack;
		if (moment->id.thread == finding->event.thread && moment->id.n == finding->event.n)
			break;
	}
	return stack;
}

/* "H QUEUE-004 unsignaled-run  1:67  53.8 ms   put_record+0x79" */
static void put_finding(struct text *t, struct screen *screen, const struct group *group)
{
	const struct finding *finding = screen->report->findings->all[group->first];
	const struct rule *rule = &rules[finding->rule];
	char id[32], when[32];

	text_addf(t, "%c %s %s", finding_severity(finding), rule->id, rule->name);
	wrap_mark(&screen->spans, 0, t->used, style_of_severity(finding_severity(finding)));
	text_addf(t, "  %s  %s", event_id_text(finding->event, id),
		  words_format_span(finding->time, when));
	screen_put_place(t, screen, SCREEN_FINDINGS, find_place(finding));
	screen_put_times(t, finding->site->group ? 1 : group->count, group->nprocesses);
}

/*
 * If there are many hazards, each has one line; the first of those that break under the same
 * condition also names it. What happened is below the screen.
 */
static bool print_hazard(struct screen *screen, struct text *t, const struct group *group,
			 const char **breaks)
{
	const struct finding *finding = screen->report->findings->all[group->first];

	put_finding(t, screen, group);
	if (finding->breaks && (!*breaks || strcmp(*breaks, finding->breaks) != 0))
		text_addf(t, "   breaks when %s", finding->breaks);
	*breaks = finding->breaks;
	return screen_print_wrapped(screen, 2, t);
}

static bool print_finding(struct screen *screen, struct text *t, const struct group *group,
			  bool *told)
{
	const struct report *report = screen->report;
	const struct finding *finding = report->findings->all[group->first];

	put_finding(t, screen, group);
	if (!screen_print_wrapped(screen, 2, t))
		return false;
	sentence_put_finding(t, finding);
	screen_print_wrapped(screen, 4, t);
	if (!told[finding->rule] && !finding->site->hazard) {
		put_advice(t, finding);
		screen_print_wrapped(screen, 4, t);
		told[finding->rule] = true;
	}
	return true;
}

/* Hash the states, flags and statuses that the finding's sentence names. */
static uint64_t hash_named(const struct finding *finding)
{
	const char *at = finding->says;
	uint64_t hash = 0;

	while (at && (at = strstr(at, "IBV_"))) {
		size_t n = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

		hash = hash_of(at, n, hash);
		at += n;
	}
	return hash;
}

/* Does @finding say why a call hung? Nothing else on the screen does. */
static bool explains_hung_call(const struct report *report, const struct finding *finding)
{
	const struct fact_list *facts = &report->findings->facts->list;

	for (size_t i = 0; i < facts->n; i++)
		if (facts->all[i].kind == FACT_HUNG &&
		    facts->all[i].event.thread == finding->event.thread &&
		    facts->all[i].event.n == finding->event.n)
			return true;
	return false;
}

static void group_finding(const struct report *report, struct groups *groups, size_t i)
{
	const struct finding *finding = report->findings->all[i];
	uint64_t key =
		screen_line_key(report,
				fact_key((uint64_t)finding->rule << 1 | finding->site->hazard,
					 hash_named(finding), 0),
				find_place(finding));

	groups_add(groups, key, i, finding->process, finding_times(finding));
	for (size_t k = 0; k < finding->nalso; k++)
		groups_add(groups, key, i, finding->also[k], 0);
}

/*
 * Group the findings by rule, place, states and flags; sorted by severity, the reasons of hung
 * calls first.
 */
static void group_findings(const struct report *report, struct groups *groups)
{
	const struct findings *findings = report->findings;

	for (const char *severity = "EWHPI"; *severity; severity++)
		for (int others = 0; others < 2; others++)
			for (size_t i = 0; i < findings->n; i++) {
				const struct finding *finding = findings->all[i];

				if (finding_severity(finding) == *severity &&
				    finding->known == FINDING_NEW &&
				    explains_hung_call(report, finding) != others)
					group_finding(report, groups, i);
			}
}

/* The number of groups from @first on that are hazards. */
static size_t count_hazards(const struct report *report, const struct groups *groups, size_t first)
{
	size_t n = 0;

	for (size_t i = first; i < groups->n; i++)
		n += report->findings->all[groups->all[i].first]->site->hazard;
	return n;
}

static void print_groups(struct screen *screen, struct text *t, const struct groups *groups)
{
	const struct report *report = screen->report;
	bool told[RULE_COUNT] = { false };
	const char *breaks = NULL;
	bool brief = false;
	size_t shown = 0;

	for (; shown < groups->n; shown++) {
		const struct group *group = &groups->all[shown];
		bool hazard = report->findings->all[group->first]->site->hazard;

		if (hazard && !brief)
			brief = count_hazards(report, groups, shown) * HAZARD_LINES > screen->left;
		if (!(hazard && brief ? print_hazard(screen, t, group, &breaks)
				      : print_finding(screen, t, group, told)))
			break;
	}
	screen->kept = 0;
	screen_print_more(screen, t, groups->n - shown, "below");
}

void screen_print_findings(struct screen *screen)
{
	struct finding *const *findings = screen->report->findings->all;
	struct groups groups = { 0 };
	struct text t = { 0 };

	print_sums(screen);
	group_findings(screen->report, &groups);
	for (size_t i = 0; i < groups.n; i++)
		places_add(screen->places, SCREEN_FINDINGS,
			   find_place(findings[groups.all[i].first]));
	print_groups(screen, &t, &groups);
	groups_fini(&groups);
	text_fini(&t);
}
