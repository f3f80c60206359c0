/*
 * The speed of reading a trace
 *
 *	scan TRACE	prints: open S...     until the first event is there
 *				scan M/S...   all events, in time order
 */
#include <stdio.h>

#include "core/store/open.h"
#include "scripts/bench/sample.h"

enum { TIMES = 5 };

static int open_first(const char *path, struct trace **ret_trace, struct cursor **ret_cursor)
{
	const struct trace_event *event;
	int err = trace_open(path, ret_trace);

	if (!err)
		err = cursor_open(*ret_trace, NULL, ret_cursor);
	return err ? err : cursor_next(*ret_cursor, &event) - 1;
}

static long read_rest(struct cursor *cursor)
{
	const struct trace_event *event;
	long n = 1;

	while (cursor_next(cursor, &event) == 1)
		n++;
	return n;
}

int main(int argc, char **argv)
{
	double opening[TIMES], rate[TIMES], events;

	for (int i = 0; i < TIMES; i++) {
		struct trace *trace = NULL;
		struct cursor *cursor = NULL;
		uint64_t start = sample_now();

		if (argc != 2 || open_first(argv[1], &trace, &cursor))
			return 1;
		opening[i] = (double)(sample_now() - start) / 1e9;
		start = sample_now();
		events = (double)read_rest(cursor);
		rate[i] = events * 1e3 / (double)(sample_now() - start);
		cursor_close(cursor);
		trace_close(trace);
	}
	sample_print("open", opening, TIMES);
	sample_print("scan", rate, TIMES);
	sample_print("read", &events, 1);
	return 0;
}
