/*
 * A recorded trace: opened, asked for what was loaded, closed
 *
 * Not here: what is loaded (trace_load.c), the stream of events (cursor.c),
 * values of arguments (args.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/store/finish/complete.h"
#include "core/store/db/file.h"
#include "core/store/read/live.h"
#include "core/store/db/schema.h"
#include "core/store/read/trace_int.h"
#include "core/store/db/vfs.h"
#include "core/store/vtab/vtab.h"
#include "core/store/write/writer.h"
#include "core/wire/log.h"
#include "core/wire/session.h"

const char *event_id_text(struct event_id id, char text[32])
{
	if (id.thread)
		snprintf(text, 32, "%u:%" PRIu64, id.thread, id.n);
	else
		snprintf(text, 32, "-");
	return text;
}

/* Is the recorder that began this trace still at it? */
static bool recorder_alive(sqlite3 *db)
{
	int64_t pid = sql_int(db, "SELECT value FROM meta WHERE key = 'recorder'", 0);
	int64_t start = sql_int(db, "SELECT value FROM meta WHERE key = 'recorder_start'", 0);
	char boot[64];
	sqlite3_stmt *stmt = NULL;
	bool same = true;

	file_boot_id(boot);
	if (!sqlite3_prepare_v2(db, "SELECT value = ? FROM meta WHERE key = 'recorder_boot'", -1,
				&stmt, NULL)) {
		sqlite3_bind_text(stmt, 1, boot, -1, SQLITE_STATIC);
		if (sqlite3_step(stmt) == SQLITE_ROW)
			same = sqlite3_column_int(stmt, 0);
	}
	sqlite3_finalize(stmt);
	return same && pid > 0 && session_process_alive((pid_t)pid, (uint64_t)start);
}

/* What its maker last said of it: 1 it is recorded, 0 it is whole, or -errno. */
static int get_state(sqlite3 *db, const char *path)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(db, "SELECT value = 'recording', value = 'unpacking' FROM meta"
				  " WHERE key = 'state'", &stmt);

	if (err)
		return err;
	err = sql_step(stmt);
	if (!err)
		err = log_err(-EINVAL, "%s was never begun: who made it was killed; make it again",
			      path);
	else if (err > 0 && sqlite3_column_int(stmt, 1))
		err = log_err(-EINVAL, "%s is half of an unpacked trace, whose maker was killed; "
				       "unpack again", path);
	else if (err > 0)
		err = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return err;
}

/* The database of a trace whose recorder did not finish; completes it. */
static int recover(sqlite3 *db, const char *path)
{
	int err;

	sqlite3_exec(db, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL, NULL);
	if ((sqlite3_exec(db, "SELECT 1 FROM sqlite_master", NULL, NULL, NULL) & 0xff) == SQLITE_BUSY)
		return log_err(-EBUSY, "%s is still being written; wait for its end", path);
	err = schema_check(db);
	if (!err)
		err = get_state(db, path);
	if (err < 0)
		return err;
	if (!err) /* whole, but its recorder died before it could say so */
		return complete_file(db);
	if (recorder_alive(db))
		return log_err(-EBUSY, "%s is still being recorded; wait for its end", path);
	log_note("%s: its recorder died; completing what it wrote", path);
	return complete(db, COMPLETE_INTERRUPTED);
}

/* With nothing run or believed of what its schema says. */
static int open_with(const char *path, int flags, sqlite3 **ret_db)
{
	int err = sql_open(path, SQLITE_OPEN_FULLMUTEX | flags, ret_db);

	return err ? err : sql_distrust(*ret_db);
}

static int open_unfinished(const char *path, sqlite3 **ret_db)
{
	int err;

	if (access(path, W_OK))
		return log_err(-errno, "%s must be completed, since its recorder died: open it "
				       "once as its owner", path);
	err = vfs_check(path);
	if (!err)
		err = open_with(path, SQLITE_OPEN_READWRITE, ret_db);
	return err ? err : recover(*ret_db, path);
}

static int open_db(const char *path, sqlite3 **ret_db)
{
	bool unfinished = false;
	int err = file_check(path, &unfinished);

	if (!err && !unfinished)
		err = open_with(path, SQLITE_OPEN_READONLY, ret_db);
	if (!err && !unfinished)
		err = schema_check(*ret_db);
	if (err)
		return err;
	if (!unfinished) {
		if (!sql_int(*ret_db, "SELECT value IN ('recording', 'unpacking') FROM"
				     " meta WHERE key = 'state'", 0))
			return 0;
		/* it died before the WAL was there */
		sqlite3_close(*ret_db);
		*ret_db = NULL;
	}
	return open_unfinished(path, ret_db);
}

int trace_borrow(sqlite3 *db, struct trace **ret_trace)
{
	struct trace *trace = calloc(1, sizeof(*trace));
	int err;

	if (!trace)
		return log_err(-ENOMEM, "read the trace");
	trace->db = db;
	trace->borrowed = true;
	err = trace_load(trace);
	if (err) {
		trace_close(trace);
		return err;
	}
	*ret_trace = trace;
	return 0;
}

int trace_open(const char *path, struct trace **ret_trace)
{
	struct trace *trace = NULL;
	sqlite3 *db = NULL;
	int err = open_db(path, &db);

	if (!err)
		err = trace_borrow(db, &trace);
	if (!err)
		err = vtab_register(db, trace);
	if (err) {
		trace_close(trace);
		sqlite3_close(db);
		return err;
	}
	trace->borrowed = false;
	*ret_trace = trace;
	return 0;
}

void trace_close(struct trace *trace)
{
	if (!trace)
		return;
	sqlite3_finalize(trace->frames);
	trace_payloads_fini(trace);
	trace_unload(trace);
	live_free(trace->live);
	if (!trace->borrowed)
		sqlite3_close(trace->db);
	free(trace);
}

void trace_on_progress(struct trace *trace, void (*tell)(uint64_t events, int64_t time))
{
	trace->tell = tell;
}

struct sqlite3 *trace_db(struct trace *trace)
{
	return trace->db;
}

const char *trace_meta(struct trace *trace, const char *key)
{
	for (size_t i = 0; i < trace->nmeta; i++)
		if (trace->meta[i].key && !strcmp(trace->meta[i].key, key))
			return trace->meta[i].value;
	return NULL;
}

uint32_t trace_one_of(struct trace *trace)
{
	const char *text = trace_meta(trace, "one_of");
	unsigned long n = text ? strtoul(text, NULL, 10) : 1;

	return n > 1 && n <= UINT32_MAX ? (uint32_t)n : 1;
}

const struct process *trace_process(struct trace *trace, uint32_t id)
{
	return id && id <= trace->nprocesses ? &trace->processes[id - 1] : NULL;
}

const struct thread *trace_thread(struct trace *trace, uint32_t id)
{
	return id && id <= trace->nthreads ? &trace->threads[id - 1] : NULL;
}

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

int trace_follow(struct writer *writer, struct trace **ret_trace)
{
	struct trace *trace = calloc(1, sizeof(*trace));
	int err;

	if (!trace)
		return log_err(-ENOMEM, "follow the trace");
	trace->db = writer_db(writer);
	trace->borrowed = true;
	err = schema_follow(trace->db);
	if (!err)
		err = live_new(trace, writer, &trace->live);
	if (err) {
		trace_close(trace);
		return err;
	}
	*ret_trace = trace;
	return 0;
}

bool trace_is_live(const struct trace *trace)
{
	return trace->live;
}

static const struct known_module *module_by_id(const struct trace *trace, int64_t id)
{
	size_t low = 0, high = trace->nmodules;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (trace->modules[middle].id == id)
			return &trace->modules[middle];
		if (trace->modules[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

struct frame trace_frame(const struct trace *trace, int64_t ip, int64_t module, int64_t offset)
{
	const struct known_module *m = module_by_id(trace, module);

	return (struct frame){ .ip = (uint64_t)ip,
			       .module = m ? m->path : NULL,
			       .build_id = m ? m->build_id : NULL,
			       .offset = (uint64_t)offset };
}

unsigned int trace_stack(struct trace *trace, uint32_t stack, struct frame *frames,
			 unsigned int max)
{
	unsigned int n = 0;

	if (trace->live)
		return live_stack(trace->live, stack, frames, max);
	if (!trace->frames &&
	    sql_prepare(trace->db, "SELECT ip, module, offset FROM frame WHERE stack = ?"
				   " ORDER BY i", &trace->frames))
		return 0;
	sql_bind(trace->frames, "u", stack);
	while (n < max && sql_step(trace->frames) > 0)
		frames[n++] = trace_frame(trace, sqlite3_column_int64(trace->frames, 0),
					  sqlite3_column_int64(trace->frames, 1),
					  sqlite3_column_int64(trace->frames, 2));
	sqlite3_reset(trace->frames);
	return n;
}

struct trace_loss trace_loss(struct trace *trace)
{
	return trace->loss;
}
