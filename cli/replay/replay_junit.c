/*
 * The report of a replay as JUnit
 *
 * Each cause of divergences is a failed test case of the class verbatim.divergence; the whole
 * replay is one more, which fails if it is the only reason for an exit status other than 0. Events
 * that were left out are skipped test cases.
 */
#include "cli/replay/replay_junit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/junit.h"
#include "core/wire/log.h"
#include "replay/report/outcome.h"

static void put_divergence(struct junit *junit, const struct outcome *outcome, size_t i)
{
	const struct divergence *d = outcome_nth_divergence(outcome, i);
	char *line = NULL, event[32];
	struct text name = { 0 };
	size_t size;
	FILE *to = open_memstream(&line, &size);

	if (!to)
		return;
	outcome_print_divergence(outcome, i, to);
	text_addf(&name, "%s %s %s", event_id_text(d->event, event), divergence_verb(d), d->field);
	if (!fclose(to) && !name.failed)
		junit_case(junit, "divergence", name.at,
			   &(struct junit_outcome){ .failure = line,
						    .type = outcome_class_name(d->class),
						    .details = line });
	text_fini(&name);
	free(line);
}

static void put_left_out(struct junit *junit, const struct outcome *outcome)
{
	bool more = true;

	for (size_t i = 0; more; i++) {
		char *line = NULL;
		size_t size;
		FILE *to = open_memstream(&line, &size);

		more = to && outcome_print_skip(outcome, i, to);
		if (to && !fclose(to) && more)
			junit_case(junit, "left-out", line,
				   &(struct junit_outcome){ .skipped = line });
		free(line);
	}
}

/* Add the test case of the whole replay, with the first line of the text report. */
static void put_replay(struct junit *junit, const struct outcome *outcome, int status)
{
	bool partial = outcome_stopped(outcome) || (status && !outcome_divergences(outcome));
	char *line = NULL;
	size_t size;
	FILE *to = open_memstream(&line, &size);

	if (!to)
		return;
	outcome_verdict(outcome, to);
	if (!fclose(to))
		junit_case(junit, "replay", "replay",
			   &(struct junit_outcome){ .failure = partial ? line : NULL,
						    .type = "partial",
						    .details = line,
						    .output = partial ? NULL : line });
	free(line);
}

int replay_junit(const struct outcome *outcome, const char *path, int status, FILE *out)
{
	struct junit junit;
	char exit_status[16];
	const char *properties[] = { "trace",       path,        "version", VERBATIM_VERSION,
				     "exit-status", exit_status, NULL };
	int err = junit_begin(&junit);

	if (err)
		return err;
	snprintf(exit_status, sizeof(exit_status), "%d", status);
	put_replay(&junit, outcome, status);
	for (size_t i = 0; i < outcome_count_kept(outcome); i++)
		if (outcome_nth_divergence(outcome, i))
			put_divergence(&junit, outcome, i);
	put_left_out(&junit, outcome);
	return junit_end(&junit, "verbatim replay", properties, out);
}
