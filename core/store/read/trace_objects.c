/*
 * Objects and stacks of a trace, whether it is finished (objects.h) or still being written (live.h)
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/db/object_name.h"
#include "core/store/read/part.h"
#include "core/store/read/joint.h"
#include "core/store/read/live.h"
#include "core/store/read/trace_priv.h"
#include "core/wire/log.h"

const struct object *trace_object(struct trace *trace, uint32_t id)
{
	if (trace->live)
		return live_object(trace->live, id);
	return id && id <= trace->objects.count ? &trace->objects.list[id - 1] : NULL;
}

const struct object *trace_object_at(struct trace *trace, uint32_t process, enum object_kind kind,
				     uint64_t handle, int64_t time)
{
	if (trace->live)
		return live_at(trace->live, process, kind, handle);
	return objects_at(&trace->objects, process, kind, handle, time);
}

uint64_t trace_alive(struct trace *trace, enum object_kind kind, uint32_t process, int64_t time)
{
	uint64_t n = 0;

	if (trace->live)
		return live_count_alive(trace->live, kind);
	for (uint32_t i = 0; i < trace->objects.count; i++) {
		const struct object *o = &trace->objects.list[i];

		n += o->kind == kind && (!process || o->process == process) &&
		     o->created_at <= time && o->destroyed_at > time;
	}
	return n;
}

/* List the traces from which calls are read, one for each part; the caller frees the list. */
static int list_sources(struct trace *trace, struct source_calls **ret_sources, size_t *ret_n)
{
	size_t n = trace->joint ? trace->joint->n : 1;
	struct source_calls *sources = calloc(n, sizeof(*sources));

	if (!sources)
		return log_err(-ENOMEM, "read calls");
	if (trace->joint)
		joint_sources(trace, sources);
	else
		sources->db = trace->db;
	*ret_sources = sources;
	*ret_n = n;
	return 0;
}

int trace_connections(struct trace *trace, const struct connections **ret_connections)
{
	struct source_calls *sources = NULL;
	size_t n = 0;
	int err = trace->connections.peers ? 0 : list_sources(trace, &sources, &n);

	if (!err && n)
		err = connections_learn(sources, n, &trace->objects, &trace->connections);
	free(sources);
	if (!err)
		*ret_connections = &trace->connections;
	return err;
}

int trace_queues(struct trace *trace, const struct queue_table **ret_queues)
{
	struct source_calls *sources = NULL;
	size_t n = 0;
	int err = trace->queues.first ? 0 : list_sources(trace, &sources, &n);

	if (!err && n)
		err = queue_table_learn(sources, n, &trace->objects, &trace->queues);
	free(sources);
	if (!err)
		*ret_queues = &trace->queues;
	return err;
}

bool trace_object_is(const struct trace *trace, const struct object *object, const char *name)
{
	size_t part = trace_part_of(trace, object->process);
	struct object_name asked;

	if (!object->name || !object_name_read(name, &asked) || strcmp(object->name, asked.name))
		return false;
	if (*asked.trace &&
	    (!trace->joint || strcmp(asked.trace, trace_part_name(trace, part)) != 0))
		return false;
	return !asked.process || asked.process == trace_part_process(trace, object->process);
}

unsigned int trace_stack(struct trace *trace, uint32_t stack, struct frame *frames,
			 unsigned int max)
{
	unsigned int n = 0;

	if (trace->live)
		return live_stack(trace->live, stack, frames, max);
	if (trace->joint) {
		const struct joint_part *part = joint_of_stack(trace->joint, stack);

		return trace_stack(part->trace, stack - part->stacks, frames, max);
	}
	if (!trace->frames && sql_prepare(trace->db,
					  "SELECT ip, module, offset FROM frame WHERE stack = ?"
					  " ORDER BY i",
					  &trace->frames))
		return 0;
	sql_bind(trace->frames, "u", stack);
	while (n < max && sql_step(trace->frames) > 0)
		frames[n++] = trace_frame(trace, sqlite3_column_int64(trace->frames, 0),
					  sqlite3_column_int64(trace->frames, 1),
					  sqlite3_column_int64(trace->frames, 2));
	sqlite3_reset(trace->frames);
	return n;
}

bool trace_stack_has_cm(struct trace *trace, uint32_t stack, unsigned int depth)
{
	struct frame frames[8];
	unsigned int n = trace_stack(trace, stack, frames, depth < 8 ? depth : 8);

	for (unsigned int i = 0; i < n; i++)
		if (frames[i].module && strstr(frames[i].module, "/librdmacm.so"))
			return true;
	return false;
}
