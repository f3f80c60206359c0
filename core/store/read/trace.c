/*
 * A recorded trace: access to loaded data
 *
 * Not here: opening (core/store/open.c, trace_borrow.c), loading (trace_load.c), objects and stacks
 * (trace_objects.c), the stream of events (cursor.c), values of arguments (args.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/read/part.h"
#include "core/store/read/trace_priv.h"

void trace_on_progress(struct trace *trace, void (*tell)(uint64_t events, int64_t time))
{
	trace->tell = tell;
}

struct sqlite3 *trace_db(struct trace *trace)
{
	return trace->db;
}

/*
 * The value of the first part that has @key: for example a filter, which also hides events of the
 * joint trace.
 */
static const char *first_part_meta(const struct joint *joint, const char *key)
{
	const char *found = NULL;

	for (size_t i = 0; i < joint->n && !(found && *found); i++)
		found = trace_meta(joint->parts[i].trace, key) ?: found;
	return found;
}

const char *trace_meta(struct trace *trace, const char *key)
{
	if (trace->joint)
		return first_part_meta(trace->joint, key);
	for (size_t i = 0; i < trace->nmeta; i++)
		if (trace->meta[i].key && !strcmp(trace->meta[i].key, key))
			return trace->meta[i].value;
	return NULL;
}

static uint32_t find_sampling_factor(struct trace *trace)
{
	const char *text = trace_meta(trace, "one_of");
	unsigned long n = text ? strtoul(text, NULL, 10) : 1;
	uint32_t most = 1;

	for (size_t i = 0; trace->joint && i < trace->joint->n; i++) {
		uint32_t its = trace_sampling_factor(trace->joint->parts[i].trace);

		most = its > most ? its : most;
	}
	return !trace->joint && n > 1 && n <= UINT32_MAX ? (uint32_t)n : most;
}

uint32_t trace_sampling_factor(struct trace *trace)
{
	if (!trace->one_of)
		trace->one_of = find_sampling_factor(trace);
	return trace->one_of;
}

const struct process *trace_process(const struct trace *trace, uint32_t id)
{
	return id && id <= trace->nprocesses ? &trace->processes[id - 1] : NULL;
}

bool trace_environ(struct trace *trace, uint32_t process, const char *name, char *value,
		   size_t size)
{
	sqlite3_stmt *stmt;
	bool found = false;

	if (trace->joint) {
		const struct joint_part *part = joint_of_process(trace->joint, process);

		return trace_environ(part->trace, process - part->ids.processes, name, value, size);
	}
	value[0] = '\0';
	if (sql_prepare(trace->db, "SELECT value FROM environ WHERE process = ? AND name = ?",
			&stmt))
		return false;
	sql_bind(stmt, "ut", process, name);
	if (sql_step(stmt) > 0) {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);

		found = true;
		snprintf(value, size, "%s", text ? text : "");
	}
	sqlite3_finalize(stmt);
	return found;
}

const struct thread *trace_thread(struct trace *trace, uint32_t id)
{
	return id && id <= trace->nthreads ? &trace->threads[id - 1] : NULL;
}

bool trace_is_live(const struct trace *trace)
{
	return trace->live;
}

static bool is_module_before(const void *module, const void *id)
{
	return ((const struct known_module *)module)->id < *(const int64_t *)id;
}

static const struct known_module *find_module(const struct trace *trace, int64_t id)
{
	size_t at = vec_count_before(trace->modules, trace->nmodules, sizeof(*trace->modules),
				     is_module_before, &id);

	return at < trace->nmodules && trace->modules[at].id == id ? &trace->modules[at] : NULL;
}

struct frame trace_frame(const struct trace *trace, int64_t ip, int64_t module, int64_t offset)
{
	const struct known_module *m = find_module(trace, module);

	return (struct frame){ .ip = (uint64_t)ip,
			       .module = m ? m->path : NULL,
			       .build_id = m ? m->build_id : NULL,
			       .offset = (uint64_t)offset };
}

struct trace_loss trace_loss(struct trace *trace)
{
	return trace->loss;
}

int64_t trace_cut(const struct trace *trace)
{
	return trace->cut;
}

bool trace_is_closed(const struct trace *trace)
{
	return trace->cut != INT64_MIN && trace->loss.events == trace->loss.overwritten &&
	       !trace->loss.damaged;
}

int64_t trace_complete_since(const struct trace *trace)
{
	return trace->live ? INT64_MIN : trace->whole_from;
}

enum verb trace_verb(const struct trace_event *event)
{
	switch (event->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		return event->call->verb;
	case TRACE_POST:
		return event->post->verb;
	case TRACE_POLL:
		return event->poll->verb;
	case TRACE_NOTIFY:
		return VERB_req_notify_cq;
	default:
		return VERB_COUNT;
	}
}
