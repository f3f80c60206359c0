/*
 * The traces of a job, on one time line
 */
#include "cli/trace/job.h"

#include <errno.h>

#include "analyzer/model/clocks.h"
#include "analyzer/report/clock_text.h"
#include "cli/cli.h"
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

static int tell_clocks(const struct trace *trace)
{
	struct text text = { 0 };
	int err;

	for (size_t i = 1; i < trace_nparts(trace); i++) {
		text_cut(&text, 0);
		clock_text_add(&text, trace, i);
		if (!text.failed)
			log_note("%s", text.at);
	}
	err = text.failed ? log_err(-ENOMEM, "clocks of traces") : 0;
	text_fini(&text);
	return err;
}

int job_open(const char *command, const struct arguments *traces, struct trace **ret_trace)
{
	int status = cli_open_all(command, traces, ret_trace), err;

	if (status || traces->n < 2)
		return status;
	err = clocks_join(*ret_trace);
	if (!err)
		err = tell_clocks(*ret_trace);
	if (err)
		trace_close(*ret_trace);
	return cli_status(err);
}
