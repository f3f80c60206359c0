/*
 * Loading the tables of a trace
 *
 * Tables that grow with the program's structure (processes, threads, objects, modules) are loaded
 * when the trace is opened, or row by row if the trace is still being written. Tables that grow
 * with time stay in the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/chunk/abi.h"
#include "core/store/db/rank.h"
#include "core/store/db/references.h"
#include "core/store/read/merged.h"
#include "core/store/read/trace_priv.h"
#include "core/wire/log.h"

static int each_row(struct trace *trace, const char *sql,
		    int (*row)(struct trace *, sqlite3_stmt *))
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(trace->db, sql, &stmt);

	while (!err && (err = sql_step(stmt)) > 0)
		err = row(trace, stmt);
	sqlite3_finalize(stmt);
	return err;
}

static int read_meta(struct trace *trace, sqlite3_stmt *stmt)
{
	struct meta *meta = vec_push(trace->meta, trace->nmeta);

	if (!meta)
		return log_err(-ENOMEM, "read meta");
	meta->key = sql_strdup(stmt, 0);
	meta->value = sql_strdup(stmt, 1);
	return 0;
}

int trace_load_meta(struct trace *trace)
{
	return each_row(trace, "SELECT key, value FROM meta", read_meta);
}

static struct rare_event *add_rare_event(struct trace *trace, enum trace_event_kind kind,
					 uint32_t thread, uint64_t n, uint32_t process,
					 int64_t time)
{
	struct rare_event *rare = vec_push(trace->rares, trace->nrares);

	if (rare)
		*rare = (struct rare_event){
			.kind = kind, .id = { thread, n }, .process = process, .time = time
		};
	return rare;
}

#define PROCESS_SQL                                                                       \
	"SELECT id, pid, ppid, parent, fork_thread, fork_n, fork_time, start, end,"       \
	" exe, cmdline, thread, n, status, ending, (SELECT f.stack FROM fork f"           \
	" WHERE f.thread = fork_thread AND f.n = fork_n), memlock, memlock_most, nofile," \
	" nofile_most, coalesce(ipc_lock, -1), page_size FROM process"
#define THREAD_SQL                                                  \
	"SELECT id, process, tid, comm, events, n, end FROM thread" \
	" LEFT JOIN carried c ON c.thread = id"
#define MODULE_SQL "SELECT id, path, build_id FROM module"

static int read_process_row(struct trace *trace, sqlite3_stmt *stmt)
{
	uint32_t id = sql_u32(stmt, 0);
	struct process *p;

	if (!id || id > trace->nprocesses)
		return log_why(-EINVAL, "table process has invalid numbers");
	p = &trace->processes[id - 1];
	p->id = id;
	p->pid = sqlite3_column_int(stmt, 1);
	p->ppid = sqlite3_column_int(stmt, 2);
	p->parent = sql_u32(stmt, 3);
	p->fork = (struct event_id){ sql_u32(stmt, 4), (uint64_t)sqlite3_column_int64(stmt, 5) };
	p->fork_time = sql_time(stmt, 6);
	p->start = sql_time(stmt, 7);
	p->end = sql_time_or(stmt, 8, -1);
	p->exe = sql_strdup(stmt, 9);
	p->cmdline = sql_strdup(stmt, 10);
	p->status =
		sqlite3_column_type(stmt, 13) == SQLITE_NULL ? -1 : sqlite3_column_int(stmt, 13);
	p->ending = sql_strdup(stmt, 14);
	p->fork_stack = sql_u32(stmt, 15);
	p->memlock = (uint64_t)sqlite3_column_int64(stmt, 16);
	p->memlock_most = (uint64_t)sqlite3_column_int64(stmt, 17);
	p->nofile = (uint64_t)sqlite3_column_int64(stmt, 18);
	p->nofile_most = (uint64_t)sqlite3_column_int64(stmt, 19);
	p->ipc_lock = sqlite3_column_int(stmt, 20);
	p->page_size = sql_u32(stmt, 21);
	rank_read(trace->db, id, &p->rank);
	return 0;
}

static int read_process(struct trace *trace, sqlite3_stmt *stmt)
{
	uint32_t id = sql_u32(stmt, 0);
	int err = read_process_row(trace, stmt);

	if (err)
		return err;
	if (sql_u32(stmt, 11) && !add_rare_event(trace, TRACE_PROCESS, sql_u32(stmt, 11),
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
		return log_why(-EINVAL, "table thread has invalid numbers");
	t = &trace->threads[id - 1];
	t->id = id;
	t->process = sql_u32(stmt, 1);
	t->tid = sqlite3_column_int(stmt, 2);
	t->comm = sql_strdup(stmt, 3);
	t->events = (uint64_t)sqlite3_column_int64(stmt, 4);
	t->carried = (uint64_t)sqlite3_column_int64(stmt, 5);
	t->end = trace_meta(trace, "thread_ends") ? sql_time_or(stmt, 6, INT64_MIN) : INT64_MIN;
	return 0;
}

enum fork_how trace_fork_kind(const char *how)
{
	if (!how || !strcmp(how, "fork") || !strcmp(how, "clone"))
		return TRACE_FORKED;
	return strcmp(how, "exec") ? TRACE_SPAWNED : TRACE_REPLACED;
}

static const char *find_word(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; text && i < n; i++)
		if (!strcmp(text, words[i]))
			return words[i];
	return NULL;
}

const char *trace_fork_how(const char *how)
{
	static const char *const hows[] = { "fork",  "vfork", "posix_spawn", "system",
					    "popen", "clone", "exec" };

	return find_word(how, hows, sizeof(hows) / sizeof(*hows));
}

const char *trace_memory_what(const char *what)
{
	static const char *const whats[] = { "munmap", "mmap",    "mremap", "madvise",
					     "free",   "realloc", "huge" };

	return find_word(what, whats, sizeof(whats) / sizeof(*whats));
}

static const char *const whats_of_misuse[MISUSES] = {
#define MISUSE(name, word) word,
	EACH_MISUSE(MISUSE)
#undef MISUSE
};

const char *trace_misuse_name(enum event_misuse_what what)
{
	return whats_of_misuse[what];
}

enum event_misuse_what trace_misuse_what(const char *what)
{
	for (int i = 0; what && i < MISUSES; i++)
		if (!strcmp(what, whats_of_misuse[i]))
			return (enum event_misuse_what)i;
	return MISUSES;
}

enum verb trace_misuse_verb(const char *name)
{
	int verb = name ? verb_find(name) : -1;

	return verb < 0 ? VERB_COUNT : (enum verb)verb;
}

const char *trace_misuse_field(const char *name)
{
	static const char *const fields[] = {
#define FIELD(name) #name,
		EACH_CQ_FIELD(FIELD)
#undef FIELD
	};

	return find_word(name, fields, sizeof(fields) / sizeof(*fields));
}

/* Returns @id; 0 if it is above @last: an excerpt may refer to rows that it lacks. */
static uint32_t known_number(uint32_t id, uint32_t last)
{
	return id <= last ? id : 0;
}

static int read_fork(struct trace *trace, sqlite3_stmt *stmt)
{
	struct rare_event *rare = add_rare_event(trace, TRACE_FORK, sql_u32(stmt, 0),
						 (uint64_t)sqlite3_column_int64(stmt, 1),
						 sql_u32(stmt, 2), sql_time(stmt, 3));

	if (!rare)
		return log_err(-ENOMEM, "read forks");
	rare->fork =
		(struct fork_event){ .child = known_number(sql_u32(stmt, 4), trace->nprocesses),
				     .stack = sql_u32(stmt, 5),
				     .how = sql_strdup(stmt, 6),
				     .pid = sqlite3_column_int(stmt, 7),
				     .error = sqlite3_column_int(stmt, 8),
				     .staying = sql_strdup(stmt, 9) };
	rare->fork.kind = trace_fork_kind(rare->fork.how);
	return 0;
}

static int read_mark(struct trace *trace, sqlite3_stmt *stmt)
{
	const char *kind = (const char *)sqlite3_column_text(stmt, 4);
	struct rare_event *rare = add_rare_event(trace, TRACE_MARK, sql_u32(stmt, 0),
						 (uint64_t)sqlite3_column_int64(stmt, 1),
						 sql_u32(stmt, 2), sql_time(stmt, 3));

	if (!rare)
		return log_err(-ENOMEM, "read marks");
	rare->mark.kind = !kind || *kind == 'p' ? TRACE_MARK_POINT
			  : *kind == 'b'        ? TRACE_MARK_BEGIN
			  : *kind == 'f'        ? TRACE_MARK_FAULT
						: TRACE_MARK_END;
	rare->mark.text = sql_strdup(stmt, 5);
	return 0;
}

static int read_memory(struct trace *trace, sqlite3_stmt *stmt)
{
	struct rare_event *rare = add_rare_event(trace, TRACE_MEMORY, sql_u32(stmt, 0),
						 (uint64_t)sqlite3_column_int64(stmt, 1),
						 sql_u32(stmt, 2), sql_time(stmt, 3));

	if (!rare)
		return log_err(-ENOMEM, "read the memory events");
	rare->memory = (struct memory_event){ .what = trace_memory_what(
						      (const char *)sqlite3_column_text(stmt, 4)),
					      .addr = (uint64_t)sqlite3_column_int64(stmt, 5),
					      .length = (uint64_t)sqlite3_column_int64(stmt, 6),
					      .stack = sql_u32(stmt, 7) };
	return 0;
}

static int read_misuse(struct trace *trace, sqlite3_stmt *stmt)
{
	struct rare_event *rare = add_rare_event(trace, TRACE_MISUSE, sql_u32(stmt, 0),
						 (uint64_t)sqlite3_column_int64(stmt, 1),
						 sql_u32(stmt, 2), sql_time(stmt, 3));

	if (!rare)
		return log_err(-ENOMEM, "read misuses");
	rare->misuse = (struct writer_note_misuse){
		.what = trace_misuse_what((const char *)sqlite3_column_text(stmt, 4)),
		.verb = trace_misuse_verb((const char *)sqlite3_column_text(stmt, 5)),
		.field = trace_misuse_field((const char *)sqlite3_column_text(stmt, 6)),
		.status = sqlite3_column_int(stmt, 7),
		.handle = (uint64_t)sqlite3_column_int64(stmt, 8),
		.of = (uint64_t)sqlite3_column_int64(stmt, 9),
		.other = known_number(sql_u32(stmt, 10), trace->nthreads),
		.other_verb = trace_misuse_verb((const char *)sqlite3_column_text(stmt, 11)),
		.stack = sql_u32(stmt, 12),
	};
	return 0;
}

/* Load table `misuse`, which older traces lack. */
static int load_misuses(struct trace *trace)
{
	if (!sql_has_table(trace->db, "misuse"))
		return 0;
	return each_row(trace,
			"SELECT thread, n, process, time, what, verb, field, status, handle, of,"
			" other, other_verb, stack FROM misuse",
			read_misuse);
}

static int read_module(struct trace *trace, sqlite3_stmt *stmt)
{
	struct known_module *m = vec_push(trace->modules, trace->nmodules);

	if (!m)
		return log_err(-ENOMEM, "read modules");
	m->id = sqlite3_column_int64(stmt, 0);
	m->path = sql_strdup(stmt, 1);
	m->build_id = sql_strdup(stmt, 2);
	return 0;
}

static int compare_module_threads(const void *a, const void *b)
{
	const struct rare_event *x = a, *y = b;

	if (x->id.thread != y->id.thread)
		return x->id.thread < y->id.thread ? -1 : 1;
	return x->id.n < y->id.n ? -1 : x->id.n > y->id.n;
}

static int make_tables(struct trace *trace, uint32_t processes)
{
	uint32_t threads;
	int err = sql_max_id(trace->db, "thread", &threads);

	if (err)
		return err;
	trace->processes = calloc(processes + 1ul, sizeof(*trace->processes));
	trace->threads = calloc(threads + 1ul, sizeof(*trace->threads));
	if (!trace->processes || !trace->threads)
		return log_err(-ENOMEM, "read the trace");
	trace->nprocesses = processes;
	trace->nthreads = threads;
	return 0;
}

/* All losses in one statement, since preparing a statement takes longer than running it. */
static const char loss_sql[] =
	"SELECT l.*, c.*, (SELECT value FROM meta WHERE key = 'cut'),"
	" (SELECT value FROM meta WHERE key = 'carried')"
	" FROM (SELECT sum(events), sum(overwritten), max(last) FROM loss) l,"
	" (SELECT sum(times) FILTER (WHERE what = 'late'),"
	"  sum(times) FILTER (WHERE what = 'handlers'),"
	"  sum(times) FILTER (WHERE what = 'unwritten'),"
	"  sum(times) FILTER (WHERE what = 'damaged') FROM coverage) c";

/* Read the losses. If the row is missing, the trace is damaged, and nothing counts as lost. */
static void read_loss(struct trace *trace, sqlite3_stmt *stmt)
{
	trace->loss.events = (uint64_t)sqlite3_column_int64(stmt, 0);
	trace->loss.overwritten = (uint64_t)sqlite3_column_int64(stmt, 1);
	trace->whole_from = trace->loss.events ? sqlite3_column_int64(stmt, 2) : INT64_MIN;
	trace->loss.late = (uint64_t)sqlite3_column_int64(stmt, 3);
	trace->loss.handlers = (uint64_t)sqlite3_column_int64(stmt, 4);
	trace->loss.unwritten = (uint64_t)sqlite3_column_int64(stmt, 5);
	trace->loss.damaged = (uint64_t)sqlite3_column_int64(stmt, 6);
	if (sqlite3_column_type(stmt, 7) != SQLITE_NULL)
		trace->cut = sqlite3_column_int64(stmt, 7);
	if (sqlite3_column_type(stmt, 8) != SQLITE_NULL)
		trace->carried = sqlite3_column_int64(stmt, 8);
}

static void load_loss(struct trace *trace)
{
	const char *state = trace_meta(trace, "state"), *damaged = trace_meta(trace, "damaged");
	sqlite3_stmt *stmt = NULL;

	trace->loss = (struct trace_loss){ 0 };
	trace->whole_from = trace->cut = INT64_MIN;
	trace->carried = -1;
	if (!sqlite3_prepare_v2(trace->db, loss_sql, -1, &stmt, NULL) &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		read_loss(trace, stmt);
	sqlite3_finalize(stmt);
	trace->loss.interrupted = !state || strcmp(state, "complete") != 0;
	if (!trace->loss.damaged && damaged)
		trace->loss.damaged = strtoull(damaged, NULL, 10);
}

/*
 * For a live reader nothing is overwritten: it reads the data plane before its oldest part is
 * deleted.
 */
void trace_read_loss(struct trace *trace)
{
	load_loss(trace);
	trace->loss.events -= trace->loss.overwritten;
	trace->loss.overwritten = 0;
	trace->loss.interrupted = false;
}

static void load_numberless(struct trace *trace)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT 1 FROM call WHERE verb = 'ibv_create_cq_ex' AND NOT failed"
		 " AND NOT coalesce(CASE WHEN json_valid(args) THEN"
		 " json_extract(args, '$.init_attr.wc_flags') END, 0) & %d"
		 " LIMIT 1",
		 ABI_CQ_WITH_QP_NUM);
	trace->numberless = sql_int(trace->db, sql, 0);
}

int trace_load(struct trace *trace)
{
	struct references_bounds bounds;
	int err = references_check_small(trace->db, &bounds);

	if (!err)
		err = make_tables(trace, bounds.process);
	if (!err)
		err = trace_load_meta(trace);
	if (!err)
		err = merged_load(trace);
	if (!err)
		err = each_row(trace, PROCESS_SQL, read_process);
	if (!err)
		err = each_row(trace, THREAD_SQL, read_thread);
	if (!err)
		err = each_row(trace,
			       "SELECT thread, n, process, time, child, stack, how, pid, error,"
			       " staying FROM fork",
			       read_fork);
	if (!err)
		err = each_row(trace, "SELECT thread, n, process, time, kind, text FROM mark",
			       read_mark);
	if (!err)
		err = each_row(trace,
			       "SELECT thread, n, process, time, what, addr, length, stack"
			       " FROM memory",
			       read_memory);
	if (!err)
		err = load_misuses(trace);
	if (!err)
		err = each_row(trace, MODULE_SQL " ORDER BY id", read_module);
	if (!err)
		err = trace_load_large(trace, &bounds);
	if (err)
		return err;
	if (trace->nrares)
		qsort(trace->rares, trace->nrares, sizeof(*trace->rares), compare_module_threads);
	trace->plain = sql_has_table(trace->db, "wc");
	load_loss(trace);
	trace->totals = totals_read(trace->db);
	load_numberless(trace);
	return 0;
}

/* Free what belongs to a joint trace; texts belong to its parts. */
static void unload_joint(struct trace *trace)
{
	free(trace->processes);
	free(trace->threads);
	free(trace->objects.list);
	trace->objects.list = NULL;
	objects_fini(&trace->objects);
}

void trace_unload(struct trace *trace)
{
	if (trace->joint) {
		unload_joint(trace);
		return;
	}
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
	merged_unload(trace);
	free(trace->processes);
	free(trace->threads);
	free(trace->meta);
	for (size_t i = 0; i < trace->nrares; i++)
		if (trace->rares[i].kind == TRACE_MARK)
			free((char *)trace->rares[i].mark.text);
		else if (trace->rares[i].kind == TRACE_FORK) {
			free((char *)trace->rares[i].fork.how);
			free((char *)trace->rares[i].fork.staying);
		}
	free(trace->rares);
	free(trace->modules);
	objects_fini(&trace->objects);
}

/* For a trace that is still being written: live.c */

static int read_numbered_row(struct trace *trace, const char *sql, uint32_t id,
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

/* Add an element to an array of structures that are numbered from 1. */
static int grow_numbered(void *array, uint32_t *count, size_t size)
{
	size_t n = *count;

	if (!vec_add(array, &n, size))
		return log_err(-ENOMEM, "follow the trace");
	*count = (uint32_t)n;
	return 0;
}

int trace_read_process(struct trace *trace, uint32_t id)
{
	struct process *p;
	int err = 0;

	while (trace->nprocesses < id && !err)
		err = grow_numbered(&trace->processes, &trace->nprocesses,
				    sizeof(*trace->processes));
	if (err)
		return err;
	p = &trace->processes[id - 1];
	free((char *)p->exe);
	free((char *)p->cmdline);
	free((char *)p->ending);
	p->exe = p->cmdline = p->ending = NULL;
	err = read_numbered_row(trace, PROCESS_SQL " WHERE id = ?", id, read_process_row);
	if (!err && trace->processes[id - 1].rank.rank >= 0)
		err = trace_name_ranks(trace);
	return err;
}

int trace_read_thread(struct trace *trace, uint32_t id)
{
	int err = 0;

	while (trace->nthreads < id && !err)
		err = grow_numbered(&trace->threads, &trace->nthreads, sizeof(*trace->threads));
	return err ? err : read_numbered_row(trace, THREAD_SQL " WHERE id = ?", id, read_thread);
}

int trace_read_modules(struct trace *trace)
{
	char sql[128];
	int64_t last = trace->nmodules ? trace->modules[trace->nmodules - 1].id : 0;

	snprintf(sql, sizeof(sql), MODULE_SQL " WHERE id > %" PRId64 " ORDER BY id", last);
	return each_row(trace, sql, read_module);
}
