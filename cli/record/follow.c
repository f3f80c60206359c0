/*
 * Reading the trace while it is written
 */
#include "cli/record/follow.h"

#include "core/store/write/writer.h"
#include "core/wire/clock.h"

enum {
	SLICE_NS = 2000000,
	SLICE_EVENTS = 256, /* events between two looks at the clock */
};

int follow_open(struct follow *follow, struct writer *writer)
{
	int err = trace_follow(writer, &follow->trace);

	follow->writer = writer;
	if (!err)
		err = cursor_open(follow->trace, NULL, &follow->cursor);
	if (err)
		follow_close(follow);
	return err;
}

void follow_close(struct follow *follow)
{
	cursor_close(follow->cursor);
	trace_close(follow->trace);
	*follow = (struct follow){ 0 };
}

int follow_extend(struct follow *follow, int64_t to)
{
	int err = writer_store_logs(follow->writer);

	if (!err)
		err = cursor_extend(follow->cursor, to);
	follow->extended_at = clock_monotonic();
	follow->more = true;
	follow->to = to;
	return err;
}

/* Let the writer delete the events that were read. */
static void release_read(struct follow *follow, int more)
{
	follow->more = more > 0;
	writer_read_until(follow->writer, more ? follow->now : follow->to);
}

/* Pass up to SLICE_EVENTS events to @visit. 1: there may be more; 0 or -errno. */
static int visit_events(struct follow *follow, follow_visit *visit, void *arg)
{
	const struct trace_event *event;

	for (int i = 0; i < SLICE_EVENTS; i++) {
		int err = cursor_next(follow->cursor, &event);

		if (err <= 0)
			return err;
		follow->now = event->time;
		err = visit(arg, event);
		if (err)
			return err;
	}
	return 1;
}

int follow_for_slice(struct follow *follow, uint64_t start, follow_visit *visit, void *arg)
{
	int more;

	do
		more = visit_events(follow, visit, arg);
	while (more > 0 && clock_monotonic() - start < SLICE_NS);
	release_read(follow, more);
	return more;
}

int follow_to_end(struct follow *follow, follow_visit *visit, void *arg)
{
	int more;

	do
		more = visit_events(follow, visit, arg);
	while (more > 0);
	release_read(follow, more);
	return more;
}
