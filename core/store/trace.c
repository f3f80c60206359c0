/*
 * A recorded trace: what is loaded when it is opened
 *
 * All that grows with the program's structure (processes, threads, objects,
 * modules) is loaded at once; all that grows with time stays in the file.
 *
 * Not here: the stream of events (cursor.c), values of arguments (args.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/store/abi.h"
#include "core/store/complete.h"
#include "core/store/file.h"
#include "core/store/live.h"
#include "core/store/schema.h"
#include "core/store/trace_int.h"
#include "core/store/vtab.h"
#include "core/store/writer.h"
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

/* Run @row for each row of @sql. */
static int each(struct trace *trace, const char *sql, int (*row)(struct trace *, sqlite3_stmt *))
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(trace->db, sql, &stmt);

	while (!err && (err = sql_step(stmt)) > 0)
		err = row(trace, stmt);
	sqlite3_finalize(stmt);
	return err;
}

/* One more element, zeroed, in an array of @count that grows by doubling; NULL without memory. */
static void *more(void *array, size_t *count, size_t size)
{
	void **at = array;

	if (!(*count & (*count - 1))) { /* 0 or a power of two: full */
		void *grown = realloc(*at, (*count ? *count * 2 : 1) * size);

		if (!grown)
			return NULL;
		*at = grown;
	}
	return memset((char *)*at + (*count)++ * size, 0, size);
}

static int read_meta(struct trace *trace, sqlite3_stmt *stmt)
{
	struct meta *meta = more(&trace->meta, &trace->nmeta, sizeof(*meta));

	if (!meta)
		return log_err(-ENOMEM, "read meta");
	meta->key = sql_strdup(stmt, 0);
	meta->value = sql_strdup(stmt, 1);
	return 0;
}

static struct rare *add_rare(struct trace *trace, enum trace_event_kind kind, uint32_t thread,
			     uint64_t n, uint32_t process, int64_t time)
{
	struct rare *rare = more(&trace->rares, &trace->nrares, sizeof(*rare));

	if (rare)
		*rare = (struct rare){ .kind = kind, .id = { thread, n }, .process = process,
				       .time = time };
	return rare;
}

#define PROCESS_SQL "SELECT id, pid, ppid, parent, fork_thread, fork_n, fork_time, start, end," \
		    " exe, cmdline, thread, n, status, ending, (SELECT f.stack FROM fork f"  \
		    " WHERE f.thread = fork_thread AND f.n = fork_n) FROM process"
#define THREAD_SQL "SELECT id, process, tid, comm, events, n FROM thread LEFT JOIN carried c ON c.thread = id"
#define MODULE_SQL "SELECT id, path, build_id FROM module"

static int read_process_row(struct trace *trace, sqlite3_stmt *stmt)
{
	uint32_t id = sql_u32(stmt, 0);
	struct process *p;

	if (!id || id > trace->nprocesses)
		return log_err(-EINVAL, "table process has impossible numbers");
	p = &trace->processes[id - 1];
	p->id = id;
	p->pid = sqlite3_column_int(stmt, 1);
	p->ppid = sqlite3_column_int(stmt, 2);
	p->parent = sql_u32(stmt, 3);
	p->fork = (struct event_id){ sql_u32(stmt, 4), (uint64_t)sqlite3_column_int64(stmt, 5) };
	p->fork_time = sqlite3_column_int64(stmt, 6);
	p->start = sqlite3_column_int64(stmt, 7);
	p->end = sqlite3_column_type(stmt, 8) == SQLITE_NULL ? -1 : sqlite3_column_int64(stmt, 8);
	p->exe = sql_strdup(stmt, 9);
	p->cmdline = sql_strdup(stmt, 10);
	p->status = sqlite3_column_type(stmt, 13) == SQLITE_NULL ? -1 : sqlite3_column_int(stmt, 13);
	p->ending = sql_strdup(stmt, 14);
	p->fork_stack = sql_u32(stmt, 15);
	return 0;
}

static int read_process(struct trace *trace, sqlite3_stmt *stmt)
{
	uint32_t id = sql_u32(stmt, 0);
	int err = read_process_row(trace, stmt);

	if (err)
		return err;
	if (sql_u32(stmt, 11) &&
	    !add_rare(trace, TRACE_PROCESS, sql_u32(stmt, 11),
		      (uint64_t)sqlite3_column_int64(stmt, 12), id,
		      trace->processes[id - 1].start))
		return log_err(-ENOMEM, "read processes");
	return 0;
}

static int read_thread(struct trace *trace, sqlite3_stmt *stmt)
{
	uint32_t id = sql_u32(stmt, 0);
	struct thread *t;

	if (!id || id > trace->nthreads)
		return log_err(-EINVAL, "table thread has impossible numbers");
	t = &trace->threads[id - 1];
	t->id = id;
	t->process = sql_u32(stmt, 1);
	t->tid = sqlite3_column_int(stmt, 2);
	t->comm = sql_strdup(stmt, 3);
	t->events = (uint64_t)sqlite3_column_int64(stmt, 4);
	t->carried = (uint64_t)sqlite3_column_int64(stmt, 5);
	return 0;
}

enum fork_how trace_fork_kind(const char *how)
{
	if (!how || !strcmp(how, "fork") || !strcmp(how, "clone"))
		return TRACE_FORKED;
	return strcmp(how, "exec") ? TRACE_SPAWNED : TRACE_REPLACED;
}

static int read_fork(struct trace *trace, sqlite3_stmt *stmt)
{
	struct rare *rare = add_rare(trace, TRACE_FORK, sql_u32(stmt, 0),
				     (uint64_t)sqlite3_column_int64(stmt, 1), sql_u32(stmt, 2),
				     sqlite3_column_int64(stmt, 3));

	if (!rare)
		return log_err(-ENOMEM, "read forks");
	rare->fork = (struct fork_event){ .child = sql_u32(stmt, 4),
					  .stack = sql_u32(stmt, 5),
					  .how = sql_strdup(stmt, 6),
					  .pid = sqlite3_column_int(stmt, 7),
					  .error = sqlite3_column_int(stmt, 8) };
	rare->fork.kind = trace_fork_kind(rare->fork.how);
	return 0;
}

static int read_mark(struct trace *trace, sqlite3_stmt *stmt)
{
	const char *kind = (const char *)sqlite3_column_text(stmt, 4);
	struct rare *rare = add_rare(trace, TRACE_MARK, sql_u32(stmt, 0),
				     (uint64_t)sqlite3_column_int64(stmt, 1), sql_u32(stmt, 2),
				     sqlite3_column_int64(stmt, 3));

	if (!rare)
		return log_err(-ENOMEM, "read marks");
	rare->mark.kind = !kind || *kind == 'p' ? TRACE_MARK_POINT :
			  *kind == 'b' ? TRACE_MARK_BEGIN : TRACE_MARK_END;
	rare->mark.text = sql_strdup(stmt, 5);
	return 0;
}

static int read_module(struct trace *trace, sqlite3_stmt *stmt)
{
	struct known_module *m = more(&trace->modules, &trace->nmodules, sizeof(*m));

	if (!m)
		return log_err(-ENOMEM, "read modules");
	m->id = sqlite3_column_int64(stmt, 0);
	m->path = sql_strdup(stmt, 1);
	m->build_id = sql_strdup(stmt, 2);
	return 0;
}

static int by_thread(const void *a, const void *b)
{
	const struct rare *x = a, *y = b;

	if (x->id.thread != y->id.thread)
		return x->id.thread < y->id.thread ? -1 : 1;
	return x->id.n < y->id.n ? -1 : x->id.n > y->id.n;
}

static int make_tables(struct trace *trace)
{
	int64_t processes = sql_int(trace->db, "SELECT max(id) FROM process", 0);
	int64_t threads = sql_int(trace->db, "SELECT max(id) FROM thread", 0);

	if (processes < 0 || threads < 0 || processes > 1 << 24 || threads > 1 << 24)
		return log_err(-EINVAL, "tables process and thread have impossible numbers");
	trace->processes = calloc((size_t)processes + 1, sizeof(*trace->processes));
	trace->threads = calloc((size_t)threads + 1, sizeof(*trace->threads));
	if (!trace->processes || !trace->threads)
		return log_err(-ENOMEM, "read the trace");
	trace->nprocesses = (uint32_t)processes;
	trace->nthreads = (uint32_t)threads;
	return 0;
}

static void load_loss(struct trace *trace)
{
	const char *state = trace_meta(trace, "state"), *damaged = trace_meta(trace, "damaged");

	trace->loss.events = (uint64_t)sql_int(trace->db, "SELECT sum(events) FROM loss", 0);
	trace->loss.overwritten =
		(uint64_t)sql_int(trace->db, "SELECT sum(overwritten) FROM loss", 0);
	trace->whole_from = trace->loss.events ?
		sql_int(trace->db, "SELECT max(last) FROM loss", 0) : INT64_MIN;
	trace->loss.late = (uint64_t)sql_int(trace->db, "SELECT sum(times) FROM coverage"
							" WHERE what = 'late'", 0);
	trace->loss.handlers = (uint64_t)sql_int(trace->db, "SELECT sum(times) FROM coverage"
							    " WHERE what = 'handlers'", 0);
	trace->carried = sql_int(trace->db, "SELECT value FROM meta WHERE key = 'carried'", -1);
	trace->loss.interrupted = !state || strcmp(state, "complete") != 0;
	trace->loss.damaged = (damaged && strcmp(damaged, "0") != 0) ||
			      sql_int(trace->db, "SELECT count(*) FROM coverage WHERE"
						 " what = 'damaged'", 0);
}

static void load_numberless(struct trace *trace)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "SELECT 1 FROM call WHERE verb = 'ibv_create_cq_ex' AND NOT failed"
				   " AND NOT coalesce(json_extract(args, '$.init_attr.wc_flags'), 0) & %d"
				   " LIMIT 1", ABI_CQ_WITH_QP_NUM);
	trace->numberless = sql_int(trace->db, sql, 0);
}

static int load(struct trace *trace)
{
	int err = make_tables(trace);

	if (!err)
		err = each(trace, "SELECT key, value FROM meta", read_meta);
	if (!err)
		err = each(trace, PROCESS_SQL, read_process);
	if (!err)
		err = each(trace, THREAD_SQL, read_thread);
	if (!err)
		err = each(trace, "SELECT thread, n, process, time, child, stack, how, pid, error"
				  " FROM fork",
			   read_fork);
	if (!err)
		err = each(trace, "SELECT thread, n, process, time, kind, text FROM mark",
			   read_mark);
	if (!err)
		err = each(trace, MODULE_SQL " ORDER BY id", read_module);
	if (!err)
		err = objects_load(trace->db, &trace->objects);
	if (err)
		return err;
	if (trace->nrares)
		qsort(trace->rares, trace->nrares, sizeof(*trace->rares), by_thread);
	trace->plain = sql_int(trace->db, "SELECT count(*) FROM sqlite_master WHERE"
					  " type = 'table' AND name = 'wc'", 0);
	load_loss(trace);
	load_numberless(trace);
	return 0;
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

/* The database of a trace whose recorder did not finish; completes it. */
static int recover(sqlite3 *db, const char *path)
{
	sqlite3_stmt *stmt = NULL;
	int err;

	sqlite3_exec(db, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL, NULL);
	if (sqlite3_prepare_v2(db, "SELECT value = 'recording', value = 'unpacking' FROM meta"
				   " WHERE key = 'state'", -1, &stmt, NULL) ||
	    sqlite3_step(stmt) != SQLITE_ROW) {
		err = sqlite3_errcode(db) == SQLITE_BUSY ?
		      log_err(-EBUSY, "%s is still being written; wait for its end", path) :
		      sqlite3_errcode(db) == SQLITE_DONE ?
		      log_err(-EINVAL, "%s was never begun: who made it was killed; make it again",
			      path) :
		      sql_fail(db, "read what was recorded");
		sqlite3_finalize(stmt);
		return err;
	}
	err = sqlite3_column_int(stmt, 1) ? log_err(-EINVAL, "%s is half of an unpacked trace, whose "
						     "maker was killed; unpack again", path) :
					    sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	if (err < 0)
		return err;
	if (!err) /* whole, but its recorder died before it could say so */
		return complete_file(db);
	if (recorder_alive(db))
		return log_err(-EBUSY, "%s is still being recorded; wait for its end", path);
	log_note("%s: its recorder died; completing what it wrote", path);
	return complete(db, COMPLETE_INTERRUPTED);
}

static int open_db(const char *path, sqlite3 **ret_db)
{
	bool unfinished = false;
	int err = file_check(path, &unfinished);

	if (!err && !unfinished)
		err = sql_open(path, SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_READONLY, ret_db);
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
	if (access(path, W_OK))
		return log_err(-errno, "%s must be completed, since its recorder died: open it "
				       "once as its owner", path);
	err = sql_open(path, SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_READWRITE, ret_db);
	return err ? err : recover(*ret_db, path);
}

int trace_borrow(sqlite3 *db, struct trace **ret_trace)
{
	struct trace *trace = calloc(1, sizeof(*trace));
	int err;

	if (!trace)
		return log_err(-ENOMEM, "read the trace");
	trace->db = db;
	trace->borrowed = true;
	err = load(trace);
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
	for (uint32_t i = 0; trace->processes && i < trace->nprocesses; i++) {
		free((char *)trace->processes[i].exe);
		free((char *)trace->processes[i].cmdline);
		free((char *)trace->processes[i].ending);
	}
	for (uint32_t i = 0; trace->threads && i < trace->nthreads; i++)
		free((char *)trace->threads[i].comm);
	for (size_t i = 0; i < trace->nmeta; i++) {
		free(trace->meta[i].key);
		free(trace->meta[i].value);
	}
	for (size_t i = 0; i < trace->nmodules; i++) {
		free(trace->modules[i].path);
		free(trace->modules[i].build_id);
	}
	free(trace->processes);
	free(trace->threads);
	free(trace->meta);
	for (size_t i = 0; i < trace->nrares; i++)
		if (trace->rares[i].kind == TRACE_MARK)
			free((char *)trace->rares[i].mark.text);
		else if (trace->rares[i].kind == TRACE_FORK)
			free((char *)trace->rares[i].fork.how);
	free(trace->rares);
	free(trace->modules);
	objects_fini(&trace->objects);
	live_free(trace->live);
	if (!trace->borrowed)
		sqlite3_close(trace->db);
	free(trace);
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

/* While the trace is still written (live.c). */

static int read_one(struct trace *trace, const char *sql, uint32_t id,
		    int (*row)(struct trace *, sqlite3_stmt *))
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(trace->db, sql, &stmt);

	if (err)
		return err;
	sql_bind(stmt, "u", id);
	err = sql_step(stmt);
	if (err > 0)
		err = row(trace, stmt);
	sqlite3_finalize(stmt);
	return err;
}

/* One more place in an array of structures with numbers from 1. */
static int one_more(void *array, uint32_t *count, size_t size)
{
	size_t n = *count;

	if (!more(array, &n, size))
		return log_err(-ENOMEM, "follow the trace");
	*count = (uint32_t)n;
	return 0;
}

int trace_read_process(struct trace *trace, uint32_t id)
{
	struct process *p;
	int err = 0;

	while (trace->nprocesses < id && !err)
		err = one_more(&trace->processes, &trace->nprocesses, sizeof(*trace->processes));
	if (err)
		return err;
	p = &trace->processes[id - 1];
	free((char *)p->exe);
	free((char *)p->cmdline);
	free((char *)p->ending);
	p->exe = p->cmdline = p->ending = NULL;
	return read_one(trace, PROCESS_SQL " WHERE id = ?", id, read_process_row);
}

int trace_read_thread(struct trace *trace, uint32_t id)
{
	int err = 0;

	while (trace->nthreads < id && !err)
		err = one_more(&trace->threads, &trace->nthreads, sizeof(*trace->threads));
	return err ? err : read_one(trace, THREAD_SQL " WHERE id = ?", id, read_thread);
}

int trace_read_modules(struct trace *trace)
{
	char sql[128];
	int64_t last = trace->nmodules ? trace->modules[trace->nmodules - 1].id : 0;

	snprintf(sql, sizeof(sql), MODULE_SQL " WHERE id > %" PRId64 " ORDER BY id", last);
	return each(trace, sql, read_module);
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
