/*
 * The traces of a job, on one time line
 */
#include "cli/dump/job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/clocks.h"
#include "analyzer/report/clock_text.h"
#include "cli/cli.h"
#include "cli/open_all.h"
#include "core/base/text.h"
#include "core/store/read/joint.h"
#include "core/wire/log.h"

void job_split(const struct arguments *all, struct arguments *ret_traces,
	       struct arguments *ret_left)
{
	int n = all->n ? 1 : 0;

	while (n < all->n && cli_is_trace(all->at[n]))
		n++;
	*ret_traces = (struct arguments){ .at = all->at, .n = n };
	*ret_left = (struct arguments){ .at = all->at + n, .n = all->n - n };
}

static void print_clock(void *arg, struct text *sentence, enum clock_source source)
{
	(void)arg, (void)source;
	log_info("%s", sentence->at);
}

static int report_clocks(const struct trace *trace)
{
	if (clock_text_visit(trace, CLOCK_TEXT_MOST, print_clock, NULL))
		return log_err(-ENOMEM, "clocks of traces");
	return 0;
}

int job_open(const char *command, const struct arguments *traces, struct trace **ret_trace)
{
	int status = cli_open_all(command, traces, ret_trace), err;

	if (status || traces->n < 2)
		return status;
	err = clocks_join(*ret_trace);
	if (!err)
		err = report_clocks(*ret_trace);
	if (err)
		trace_close(*ret_trace);
	return cli_status(err);
}

int job_find_event(const char *command, struct trace *trace, const char *name, struct event_id id,
		   struct event_id *ret_id)
{
	const char *first = trace_part_name(trace, 0);
	char text[32];
	int err;

	if (!id.thread)
		return 0;
	err = trace_find_event(trace, name, id, ret_id);
	snprintf(text, sizeof(text), "%u:%" PRIu64, id.thread, id.n);
	if (err == -EINVAL && first)
		return cli_misuse(command,
				  "several traces: name the trace of the event, as in %s:%s", first,
				  text);
	if (err == -EINVAL)
		return cli_misuse(command, "only one trace: write the event as %s", text);
	return err ? cli_misuse(command, "%s no event %s%s%s",
				first ? "the traces have" : "the trace has", name, *name ? ":" : "",
				text)
		   : 0;
}

int job_find_process(const char *command, struct trace *trace, const char *name, uint32_t process,
		     uint32_t *ret_process)
{
	size_t n = trace_nparts(trace), i = 0;
	const char *first = trace_part_name(trace, 0);

	*ret_process = process;
	if (!process || (!first && !*name))
		return 0;
	if (!first)
		return cli_misuse(command, "only one trace: write 'process %u'", process);
	if (!*name)
		return cli_misuse(
			command,
			"several traces: name the trace of the process, as in '%s process %u'",
			first, process);
	while (i < n && strcmp(trace_part_name(trace, i), name) != 0)
		i++;
	if (i == n || !trace_process(trace_part(trace, i), process))
		return cli_misuse(command, "the traces have no %s process %u", name, process);
	*ret_process = trace_whole_process(trace, i, process);
	return 0;
}
