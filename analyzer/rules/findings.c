/*
 * The findings of the rules, in the order of events
 */
#include "analyzer/rules/findings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void finding_free(struct finding *finding)
{
	free(finding->where);
	free(finding->object);
	free(finding->says);
	free(finding->breaks);
	free(finding->settles);
	free(finding->also);
	free(finding);
}

void findings_forget_unchecked(struct findings *findings)
{
	for (size_t i = 0; i < findings->nunchecked; i++)
		free(findings->unchecked[i].because);
	free(findings->unchecked);
	findings->unchecked = NULL;
	findings->nunchecked = 0;
}

void findings_free(struct findings *findings)
{
	struct finding_site *site;
	struct finding *hidden;

	if (!findings)
		return;
	while ((hidden = findings->hidden)) {
		findings->hidden = hidden->hidden;
		finding_free(hidden);
	}
	for (size_t i = 0; i < findings->n; i++)
		finding_free(findings->all[i]);
	findings_forget_unchecked(findings);
	for (int i = 0; i < 256; i++)
		while ((site = findings->sites[i])) {
			findings->sites[i] = site->next;
			free(site);
		}
	free(findings->all);
	facts_free(findings->facts);
	free(findings);
}

uint64_t findings_key(uint64_t a, uint64_t b, uint64_t c)
{
	return fact_key(a, b, c);
}

static struct finding_site *find_site(struct findings *findings, enum rule_id rule, uint64_t key,
				      bool hazard)
{
	struct finding_site **list = &findings->sites[(key ^ rule) & 255], *site;

	for (site = *list; site; site = site->next)
		if (site->key == key && site->rule == rule && site->hazard == hazard)
			return site;
	site = calloc(1, sizeof(*site));
	if (!site) {
		findings->err = -ENOMEM;
		return NULL;
	}
	site->key = key;
	site->rule = rule;
	site->hazard = hazard;
	site->next = *list;
	*list = site;
	return site;
}

static struct finding *store_new_finding(struct findings *findings, struct finding_site *site)
{
	struct finding **more, *finding = calloc(1, sizeof(*finding));

	more = realloc(findings->all, (findings->n + 1) * sizeof(*more));
	if (more)
		findings->all = more;
	if (!more || !finding) {
		free(finding);
		findings->err = -ENOMEM;
		return NULL;
	}
	more[findings->n++] = finding;
	finding->rule = site->rule;
	finding->site = site;
	finding->of_site = site->count ? site->count : 1; /* for a group that counts later */
	site->kept++;
	return finding;
}

static struct finding_site *count_finding(struct findings *findings, enum rule_id rule,
					  uint64_t key, bool hazard, bool counts)
{
	struct finding_site *site;

	if (findings->carried || !findings_may_hint(findings, rule) ||
	    (!hazard && findings->skip[rule]) || (hazard && findings->no_hazards))
		return NULL;
	(hazard ? findings->hazards : findings->rules)[rule] += counts;
	site = find_site(findings, rule, key, hazard);
	if (site)
		site->count += counts;
	return site;
}

static struct finding *add_finding(struct findings *findings, enum rule_id rule, uint64_t key,
				   bool hazard)
{
	struct finding_site *site = count_finding(findings, rule, key, hazard, true);

	return site && site->kept < FINDINGS_SHOWN ? store_new_finding(findings, site) : NULL;
}

struct finding *findings_add(struct findings *findings, enum rule_id rule, uint64_t key)
{
	return add_finding(findings, rule, key, false);
}

struct finding *findings_add_hazard(struct findings *findings, enum rule_id rule, uint64_t key)
{
	return add_finding(findings, rule, key, true);
}

static struct finding *group_finding(struct findings *findings, enum rule_id rule, uint64_t key,
				     bool hazard, bool counts)
{
	struct finding_site *site = count_finding(findings, rule, key, hazard, counts);

	if (site && !site->group)
		site->group = store_new_finding(findings, site);
	return site ? site->group : NULL;
}

struct finding *findings_group(struct findings *findings, enum rule_id rule, uint64_t key,
			       bool counts)
{
	return group_finding(findings, rule, key, false, counts);
}

struct finding *findings_group_hazard(struct findings *findings, enum rule_id rule, uint64_t key,
				      bool counts)
{
	return group_finding(findings, rule, key, true, counts);
}

void findings_hide(struct findings *findings, struct finding *finding, const struct finding *teller)
{
	finding->teller = teller;
	finding->hidden = findings->hidden;
	findings->hidden = finding;
}

void finding_text(char **text, const char *format, ...)
{
	char *made = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&made, format, args) < 0)
		made = NULL;
	va_end(args);
	free(*text);
	*text = made;
}

void finding_at(struct finding *finding, const struct moment *moment)
{
	finding->event = moment->id;
	finding->time = moment->time;
	finding->process = moment->process;
	finding->thread = moment->id.thread;
}

void finding_step(struct finding *finding, const char *what, const struct moment *moment)
{
	bool known = moment->id.thread || moment->time;

	if (known && finding->nsteps < FINDING_STEPS)
		finding->steps[finding->nsteps++] = (struct finding_step){ what, *moment };
}

void findings_note_unchecked(struct findings *findings, enum rule_id rule, bool partly,
			     const char *format, ...)
{
	struct unchecked_rule *more;
	char *why = NULL;
	va_list args;

	if (findings->off[rule])
		return;
	more = realloc(findings->unchecked, (findings->nunchecked + 1) * sizeof(*more));
	if (!more) {
		findings->err = -ENOMEM;
		return;
	}
	findings->unchecked = more;
	more += findings->nunchecked++;
	more->rule = rule;
	more->partly = partly;
	more->alike = 0;
	va_start(args, format);
	if (vasprintf(&why, format, args) < 0)
		why = NULL;
	va_end(args);
	more->because = why;
	if (why && findings->part) {
		if (asprintf(&more->because, "in %s %s", findings->part, why) < 0)
			more->because = NULL;
		free(why);
	}
	findings->skip[rule] |= !partly;
}

void findings_mark_unchecked_alike(struct findings *findings, enum rule_id rule, int how)
{
	size_t n = findings->nunchecked;

	if (n && findings->unchecked[n - 1].rule == rule)
		findings->unchecked[n - 1].alike = how;
}

uint64_t finding_times(const struct finding *finding)
{
	const struct finding_site *site = finding->site;

	if (site->group)
		return site->count;
	return finding->of_site == site->kept ? site->count - site->kept + 1 : 1;
}

/* The kinds of events that are evidence of kind @letter (struct rule). */
static unsigned int events_of(char letter)
{
	switch (letter) {
	case 'd':
		return 1u << TRACE_POST;
	case 'q':
		return 1u << TRACE_POLL | 1u << TRACE_NOTIFY;
	case 'f':
		return 1u << TRACE_FORK;
	default:
		return 1u << TRACE_CALL;
	}
}

bool findings_checked(const struct findings *findings, enum rule_id rule)
{
	unsigned int wanted = 0;

	for (const char *letter = rules[rule].evidence; *letter; letter++)
		wanted |= events_of(*letter);
	return findings->seen & wanted && !findings->off[rule] && !findings->skip[rule];
}

const char *finding_advice(const struct finding *finding)
{
	return finding->todo ?: rules[finding->rule].advice;
}

char finding_severity(const struct finding *finding)
{
	return finding->site->hazard ? 'H' : rules[finding->rule].severity;
}

/* How many of @n findings of @rule, or of its hazards, are not known. */
static uint64_t count_new(const struct findings *findings, enum rule_id rule, bool hazard,
			  uint64_t n)
{
	for (size_t i = 0; i < findings->n && n; i++) {
		const struct finding *f = findings->all[i];

		if (f->rule == rule && f->site->hazard == hazard && f->known)
			n -= finding_times(f);
	}
	for (const struct finding *f = findings->hidden; f; f = f->hidden)
		if (f->rule == rule && f->site->hazard == hazard && f->teller->known)
			n -= finding_times(f);
	return n;
}

uint64_t findings_count_new(const struct findings *findings, enum rule_id rule)
{
	return count_new(findings, rule, false, findings->rules[rule]);
}

uint64_t findings_count_new_hazards(const struct findings *findings, enum rule_id rule)
{
	return count_new(findings, rule, true, findings->hazards[rule]);
}

static int compare_unchecked(const void *a, const void *b)
{
	const struct unchecked_rule *x = a, *y = b;

	if (x->rule != y->rule)
		return x->rule < y->rule ? -1 : 1;
	return strcmp(x->because ? x->because : "", y->because ? y->because : "");
}

void findings_sort_unchecked(struct findings *findings)
{
	if (findings->nunchecked)
		qsort(findings->unchecked, findings->nunchecked, sizeof(*findings->unchecked),
		      compare_unchecked);
}

uint64_t findings_count(const struct findings *findings, char severity)
{
	uint64_t n = 0;

	for (int i = 0; i < RULE_COUNT; i++)
		if (severity == 'H')
			n += findings_count_new_hazards(findings, (enum rule_id)i);
		else if (rules[i].severity == severity)
			n += findings_count_new(findings, (enum rule_id)i);
	return n;
}
