/*
 * The events of a trace, and when its processes had their last
 *
 * The latter takes a query, so it is asked for only where a process is in doubt, once for each.
 */
#include "replay/source.h"

#include <errno.h>
#include <stdlib.h>

#include "core/store/read/reader.h"
#include "core/wire/log.h"

struct source {
	struct trace *trace;
	struct reader *reader;
	int64_t *last; /* by process; INT64_MIN: not asked yet */
	uint32_t nprocesses;
};

static int next_event(void *arg, const struct trace_event **ret_event)
{
	return reader_next(((struct source *)arg)->reader, ret_event);
}

static void release_event(void *arg, const struct trace_event *event)
{
	reader_release(((struct source *)arg)->reader, event);
}

static bool is_short(void *arg)
{
	return reader_is_short(((struct source *)arg)->reader);
}

static int64_t last_time(void *arg, uint32_t process)
{
	struct source *source = arg;
	const struct process *p = trace_process(source->trace, process);

	if (!p || p->end < 0 || process >= source->nprocesses)
		return INT64_MAX;
	if (source->last[process] == INT64_MIN)
		source->last[process] = trace_last_time(source->trace, process);
	return source->last[process];
}

static const struct object *find_destroyed(void *arg, uint32_t process, uint32_t rkey, int64_t time)
{
	const struct source *source = arg;
	const struct object *o, *found = NULL;

	for (uint32_t i = 1; (o = trace_object(source->trace, i)); i++) {
		uint32_t key = o->kind == OBJECT_mr ? o->rkey : o->number;

		if (o->process != process || (o->kind != OBJECT_mr && o->kind != OBJECT_mw))
			continue;
		if (key == rkey && o->destroyed.thread && o->created_at <= time &&
		    (!found || found->created_at < o->created_at))
			found = o;
	}
	return found;
}

static const struct object *find_object(void *arg, uint32_t id)
{
	return trace_object(((struct source *)arg)->trace, id);
}

struct order_source source_of(struct source *source)
{
	return (struct order_source){
		.next = next_event,
		.release = release_event,
		.is_short = is_short,
		.arg = source,
		.last_time = last_time,
		.destroyed = find_destroyed,
		.object = find_object,
	};
}

int source_open(struct trace *trace, struct source **ret_source)
{
	struct source *source = calloc(1, sizeof(*source));
	int err;

	if (!source)
		return log_err(-ENOMEM, "read the trace");
	source->trace = trace;
	for (source->nprocesses = 1; trace_process(trace, source->nprocesses);)
		source->nprocesses++;
	source->last = calloc(source->nprocesses, sizeof(*source->last));
	err = source->last ? reader_open_kept(trace, &source->reader)
			   : log_err(-ENOMEM, "read the trace");
	if (err) {
		source_close(source);
		return err;
	}
	for (uint32_t i = 0; i < source->nprocesses; i++)
		source->last[i] = INT64_MIN;
	*ret_source = source;
	return 0;
}

void source_close(struct source *source)
{
	if (!source)
		return;
	reader_close(source->reader);
	free(source->last);
	free(source);
}
