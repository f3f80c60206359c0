/*
 * verbatim merge: several machines' traces as one trace, on one time line
 *
 * Not here: how clocks are found (analyzer/model/clocks.c), how it is written (core/store/merge).
 */
#include <errno.h>
#include <stdio.h>

#include "analyzer/model/clocks.h"
#include "analyzer/report/clock_text.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/open_all.h"
#include "cli/written.h"
#include "core/base/printable.h"
#include "core/base/style.h"
#include "core/base/text.h"
#include "core/store/merge/merge.h"
#include "core/store/read/joint.h"
#include "core/wire/log.h"

struct settings {
	const char *path;
	bool json;
	int64_t deadline;
};

/* clang-format off */
const struct option_row cli_merge_options[] = {
	{ "output", 'o', "FILE", "the trace to write", TEXT_AT(struct settings, path) },
	WRITTEN_OPTION(struct settings),
	CLI_DEADLINE(struct settings),
	{ 0 },
};
/* clang-format on */

static int check_use(const struct settings *set, const struct arguments *arguments)
{
	if (!set->path)
		return cli_misuse("merge", "no output given: -o FILE");
	if (arguments->n < 2)
		return cli_misuse("merge", "%s",
				  arguments->n ? "at least two traces are required"
					       : "no trace given");
	for (int i = 0; i < arguments->n; i++)
		if (cli_is_same_file(arguments->at[i], set->path))
			return cli_misuse("merge",
					  "'%s' is one of the input traces: choose "
					  "another name",
					  set->path);
	return 0;
}

static uint32_t count_processes(struct trace *joint)
{
	uint32_t n = 0;

	while (trace_process(joint, n + 1))
		n++;
	return n;
}

static int put_size(const struct settings *set, struct trace *joint)
{
	return written_put(
		"merge", set->path,
		(const struct written_count[]){ WRITTEN_COUNT("traces", trace_nparts(joint)),
						WRITTEN_COUNT("processes", count_processes(joint)),
						WRITTEN_COUNT("events", trace_events(joint)),
						{ 0 } });
}

static void print_size(const struct settings *set, struct trace *joint)
{
	uint32_t processes = count_processes(joint);
	char events[FORMAT_TEXT];

	style_put(stdout, STYLE_HEAD);
	print_untrusted(stdout, set->path);
	style_put(stdout, STYLE_PLAIN);
	printf(": %zu traces, %u process%s, %s events\n", trace_nparts(joint), processes,
	       processes == 1 ? "" : "es", format_count(trace_events(joint), events));
}

static void print_clock(void *arg, struct text *sentence, enum clock_source source)
{
	(void)arg;
	if (source == CLOCK_ASSUMED)
		text_addf(sentence, "; its times are based on the time of day at which it began");
	if (sentence->failed)
		return;
	printf("  ");
	style_put(stdout, source == CLOCK_ASSUMED ? STYLE_WARNING : STYLE_PLAIN);
	print_untrusted(stdout, sentence->at);
	style_put(stdout, STYLE_PLAIN);
	printf("\n");
}

/* Report how the clocks relate to the first one. */
static int report_clocks(struct trace *joint)
{
	printf("  ");
	print_untrusted(stdout, trace_part_name(joint, 0));
	printf(": reference clock of all times\n");
	if (clock_text_visit(joint, CLOCK_TEXT_MOST, print_clock, NULL))
		return log_err(-ENOMEM, "clocks of traces");
	return 0;
}

static int merge_traces(const struct settings *set, struct trace *joint)
{
	int err = clocks_join(joint);

	if (!err)
		err = merge_write(joint, set->path);
	if (err)
		return err;
	if (set->json)
		return put_size(set, joint);
	print_size(set, joint);
	return report_clocks(joint);
}

int cli_merge(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	struct trace *joint;
	int status;

	cli_parse(argc, argv, &set, &arguments);
	status = check_use(&set, &arguments);
	if (status)
		return status;
	cli_deadline(set.deadline);
	cli_show_work("merge");
	status = cli_open_all("merge", &arguments, &joint);
	if (status)
		return status;
	status = cli_status(merge_traces(&set, joint));
	trace_close(joint);
	return status;
}
