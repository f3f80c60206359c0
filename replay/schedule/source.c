/*
 * The events of a trace, and the last events of its processes
 */
#include "replay/schedule/source.h"

#include <errno.h>
#include <stdlib.h>

#include "core/store/read/reader.h"
#include "core/wire/log.h"

struct source {
	struct trace *trace;
	struct reader *reader;
	int64_t *last;   /* by process */
	int64_t soonest; /* the earliest of @last */
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
	return reader_is_low_on_batches(((struct source *)arg)->reader);
}

static int64_t last_time(void *arg, uint32_t process)
{
	const struct source *source = arg;

	return process < source->nprocesses ? source->last[process] : INT64_MAX;
}

static void find_last_times(struct source *source)
{
	source->soonest = INT64_MAX;
	trace_last_times(source->trace, source->last, source->nprocesses);
	for (uint32_t i = 1; i < source->nprocesses; i++) {
		if (trace_process(source->trace, i)->end < 0 || source->last[i] == INT64_MIN)
			source->last[i] = INT64_MAX;
		if (source->last[i] < source->soonest)
			source->soonest = source->last[i];
	}
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
		.soonest = source->soonest,
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
	find_last_times(source);
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
