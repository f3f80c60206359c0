/*
 * The part of a trace that --from, --to, --process and --phase select
 */
#include "cli/part/part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/format.h"
#include "core/base/printable.h"
#include "core/base/text.h"
#include "core/store/read/lookup.h"

int part_add_phase(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	struct part_phases *phases = field;

	if (phases->n == PART_PHASES) {
		snprintf(complaint, OPTIONS_COMPLAINT, "--phase may be given at most %d times",
			 PART_PHASES);
		return -EINVAL;
	}
	phases->at[phases->n++] = text;
	return 0;
}

static int64_t trace_end(struct trace *trace)
{
	const char *text = trace_meta(trace, "duration");

	return text ? strtoll(text, NULL, 10) : INT64_MAX;
}

static void list_phase(void *to, const char *text, size_t bytes)
{
	char shown[PRINTABLE_GROWS * 40 + 1];
	struct text *list = to;

	printable_text(shown, sizeof(shown), text, bytes < 40 ? bytes : 40);
	text_addf(list, "%s'%s'", list->used ? ", " : "", shown);
}

static int check_phase(const char *command, const char *phase, const struct part *part,
		       struct trace *trace)
{
	struct text has = { 0 };

	if (lookup_has_phase(trace, phase, part->process))
		return 0;
	lookup_phases(trace, list_phase, &has);
	cli_misuse(command, "%s no phase '%.60s'; the trace has %s",
		   part->process ? "that process has" : "there is", phase,
		   has.used && !has.failed ? has.at : "none: see verbatim_phase()");
	text_fini(&has);
	return CLI_USAGE;
}

static int check_times(const char *command, const struct part *part, struct trace *trace,
		       const struct profile_select *select)
{
	char end[FORMAT_TEXT];

	if (part->range.from.text && select->from > trace_end(trace))
		return cli_misuse(command, "no events from %s on: the trace ends at %s",
				  part->range.from.text, format_time(trace_end(trace), end));
	return 0;
}

int part_find(const char *command, const struct part *part, struct trace *trace,
	      struct profile_select *ret_select)
{
	struct profile_select select = { .process = part->process,
					 .phases = part->phases.at,
					 .nphases = part->phases.n };
	int status = point_find_range(command, &part->range, trace, &select.from, &select.to);

	if (!status)
		status = check_times(command, part, trace, &select);
	if (!status && part->process && !trace_process(trace, part->process))
		status = cli_misuse(command,
				    "the trace has no process %u; 'verbatim info' lists the "
				    "processes",
				    part->process);
	for (size_t i = 0; i < part->phases.n && !status; i++)
		status = check_phase(command, part->phases.at[i], part, trace);
	if (!status)
		*ret_select = select;
	return status;
}
