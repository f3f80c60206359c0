/*
 * verbatim facts: the sum of a node's trace, small enough to be sent
 *
 *	verbatim facts 1 NODE BYTES EVENTS OF\n
 *	BYTES bytes of a trace
 *
 * The sum is a trace, so that the sums of all nodes can be joined and checked as if they were the
 * traces. It has all objects that are alive at the end of the trace, and the last EVENTS of the
 * trace's OF events, as many as fit. If the trace is being recorded, the recorder writes a snapshot
 * first.
 *
 * Not here: the command that asks for it (job.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/job/facts.h"
#include "cli/output.h"
#include "cli/part/slice_file.h"
#include "cli/record/find_session.h"
#include "cli/record/node.h"
#include "cli/record/output_name.h"
#include "cli/record/snapshot.h"
#include "core/base/read_file.h"
#include "core/base/text.h"
#include "core/store/open.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

enum { TRIES = 12 };

struct settings {
	const char *path;
	uint64_t most;
};

/* clang-format off */
const struct option_row cli_facts_options[] = {
	{ "output", 'o', "FILE", "the file to write", TEXT_AT(struct settings, path),
	  .otherwise = OPTIONS_STDOUT },
	{ "most", 0, "SIZE", "maximum size of the summary for each process",
	  SIZE_AT(struct settings, most), .least = 1 << 16, .preset = "1M" },
	{ 0 },
};
/* clang-format on */

struct summary {
	char name[PATH_MAX]; /* of the trace */
	char copy[PATH_MAX]; /* a snapshot, to be removed; "": none */
	struct slice_file file;
	uint64_t most; /* bytes */
	uint64_t events, of;
};

/* Is the trace being recorded? Then let the recorder write a copy. Returns 0 or -errno. */
static int find_source(struct summary *sum)
{
	struct session session = { 0 };
	int err = 0;

	if (find_session_of_trace(sum->name, &session))
		return 0;
	err = snapshot_take(&session, sum->copy);
	session_leave(&session);
	/* the recording has ended meanwhile, so the trace is complete */
	return err == -ESRCH ? 0 : err;
}

static const char *source_of(const struct summary *sum)
{
	return *sum->copy ? sum->copy : sum->name;
}

static uint64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

static uint32_t count_processes(struct trace *trace)
{
	uint32_t n = 0;

	while (trace_process(trace, n + 1))
		n++;
	return n ? n : 1;
}

/* Cut the trace to the last events that fit. Each attempt uses the share that fitted before. */
static int cut_trace(struct summary *sum, struct trace *trace)
{
	uint64_t bytes = size_of(source_of(sum)), keep = trace_events(trace);
	int status = 0;

	sum->of = keep;
	for (int i = 0; i < TRIES && bytes > sum->most && !status; i++) {
		struct slice slice = { 0 };

		keep = (uint64_t)((double)keep * (double)sum->most / (double)bytes * 0.8);
		slice.last = keep > UINT32_MAX ? UINT32_MAX : keep ? (uint32_t)keep : 1;
		slice_file_remove(&sum->file);
		sum->file = (struct slice_file){ 0 };
		status = slice_file_make("facts", &slice, source_of(sum), trace, &sum->file);
		bytes = status ? bytes : size_of(sum->file.path);
		sum->events = keep;
	}
	return status;
}

static int make_summary(struct summary *sum)
{
	struct trace *trace;
	int err = trace_open(source_of(sum), &trace), status;

	if (err)
		return cli_status(err);
	sum->most *= count_processes(trace);
	sum->events = sum->of = trace_events(trace);
	status = size_of(source_of(sum)) > sum->most ? cut_trace(sum, trace) : 0;
	trace_close(trace);
	return status;
}

static int write_summary(const struct summary *sum, const char *path)
{
	char node[SESSION_TEXT], *bytes;
	struct text head = { 0 };
	struct outfile out;
	size_t n;
	int err = read_file(*sum->file.path ? sum->file.path : source_of(sum), &bytes, &n);

	if (err)
		return log_err(err, "read %s", source_of(sum));
	node_name(node);
	text_addf(&head, FACTS_HEAD "%s %zu %" PRIu64 " %" PRIu64 "\n", node, n, sum->events,
		  sum->of);
	err = head.failed ? log_err(-ENOMEM, "write the summary") : output_open(path, &out);
	if (!err) {
		fwrite(head.at, 1, head.used, out.file);
		fwrite(bytes, 1, n, out.file);
		err = outfile_close(&out, 0);
	}
	text_fini(&head);
	free(bytes);
	return err;
}

int cli_facts(int argc, char **argv)
{
	char complaint[OUTPUT_COMPLAINT];
	struct arguments arguments;
	struct settings set = { 0 };
	struct summary sum = { 0 };
	int status;

	cli_parse(argc, argv, &set, &arguments);
	if (!arguments.n)
		return cli_misuse("facts", "no trace given");
	if (arguments.n > 1)
		return cli_refuse_argument("facts", arguments.at[1]);
	if (output_name_make(arguments.at[0], 0, sum.name, complaint))
		return cli_misuse("facts", "%s", complaint);
	sum.most = set.most;
	status = cli_status(cli_find_file(sum.name));
	if (!status)
		status = cli_status(find_source(&sum));
	if (!status)
		status = make_summary(&sum);
	if (!status)
		status = cli_status(write_summary(&sum, set.path));
	slice_file_remove(&sum.file);
	if (*sum.copy)
		unlink(sum.copy);
	return status;
}
