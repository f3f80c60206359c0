/*
 * A cursor over a finished trace: all threads are in the heap from the start, objects are found by
 * time, and the ends of processes are in a sorted list.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/vec.h"
#include "core/store/db/sql.h"
#include "core/store/read/cursor_priv.h"
#include "core/wire/log.h"

enum {
	SMALL = 512 << 10, /* bytes: a smaller trace is not opened again */
	/*
	 * maximum streams of a connection: when SQLite opens or closes a statement, it iterates
	 * over all open statements of the connection, so thousands of streams would take quadratic
	 * time
	 */
	STREAMS = 512,
};

static void close_stream(struct cursor *cursor, uint32_t thread)
{
	stream_close(cursor->streams[thread - 1]);
	cursor->streams[thread - 1] = NULL;
}

static int compare_ends(const void *a, const void *b)
{
	const struct process *x = *(const struct process *const *)a;
	const struct process *y = *(const struct process *const *)b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void add_exits(struct cursor *cursor)
{
	struct trace *trace = cursor->trace;

	for (uint32_t i = 0; i < trace->nprocesses; i++) {
		const struct process *p = &trace->processes[i];

		if (p->id && p->end >= 0 && !cursor->filter.thread &&
		    (!cursor->filter.process || cursor->filter.process == p->id))
			cursor->exits[cursor->nexits++] = p;
	}
	qsort(cursor->exits, cursor->nexits, sizeof(*cursor->exits), compare_ends);
}

/* Open one more connection, unless the trace is small or cannot be opened again. */
static void open_again(struct cursor *cursor)
{
	const char *path = sqlite3_db_filename(cursor->trace->db, "main");
	sqlite3 *db, **slot;
	struct stat file;

	if (!path || stat(path, &file) || file.st_size < SMALL ||
	    trace_open_again(cursor->trace, &db))
		return;
	slot = vec_push(cursor->own_dbs, cursor->nown_dbs);
	if (slot)
		*slot = db;
	else
		sqlite3_close(db);
}

/* The connection for the next stream. */
static sqlite3 *find_db(const struct cursor *cursor)
{
	return cursor->nown_dbs ? cursor->own_dbs[cursor->nown_dbs - 1] : cursor->trace->db;
}

static int add_streams(struct cursor *cursor)
{
	struct trace *trace = cursor->trace;
	const struct trace_filter *filter = &cursor->filter;
	uint32_t opened = 0;

	for (uint32_t i = 0; i < trace->nthreads; i++) {
		const struct thread *thread = &trace->threads[i];
		struct leaf *leaf = &cursor->heap[cursor->count];
		struct stream **stream = &cursor->streams[i];
		int err;

		if (!thread->id || (filter->process && thread->process != filter->process))
			continue;
		if (filter->control_only && filter->thread && thread->id != filter->thread)
			continue;
		if (++opened % STREAMS == 0)
			open_again(cursor);
		err = stream_open(trace, find_db(cursor), thread->id, !filter->control_only,
				  &cursor->held, stream);
		if (err)
			return err;
		*leaf = (struct leaf){ .thread = thread->id, .stream = *stream };
		if (stream_time(*stream, &leaf->time))
			cursor->count++;
		else
			close_stream(cursor, thread->id);
	}
	cursor_order(cursor);
	return 0;
}

static int open_whole(struct cursor *cursor)
{
	const struct trace *trace = cursor->trace;

	if (cursor->filter.apart)
		open_again(cursor);
	cursor->limit = INT64_MAX;
	cursor->carried = trace->carried;
	cursor->streams = calloc(trace->nthreads + 1, sizeof(struct stream *));
	cursor->heap = calloc(trace->nthreads + 1, sizeof(*cursor->heap));
	cursor->exits = calloc(trace->nprocesses + 1, sizeof(*cursor->exits));
	if (!cursor->streams || !cursor->heap || !cursor->exits)
		return log_err(-ENOMEM, "read the trace");
	cursor->nstreams = trace->nthreads;
	if (cursor->match && trace->whole_from != INT64_MIN && !trace_is_closed(trace))
		match_set_stored_from(cursor->match, trace->whole_from);
	add_exits(cursor);
	return add_streams(cursor);
}

static uint32_t object_at(struct cursor *cursor, enum object_kind kind, uint64_t handle)
{
	return objects_cached_at(&cursor->cache, &cursor->trace->objects, cursor->event.process,
				 kind, handle, cursor->event.time);
}

static uint32_t qp_at(struct cursor *cursor, uint32_t number, uint32_t cq)
{
	return objects_cached_qp(&cursor->cache, &cursor->trace->objects, cursor->event.process,
				 number, cq, cursor->event.time);
}

/*
 * The process that ended next by the time of the next event, since an end comes after all other
 * events at its time.
 */
static const struct process *next_exit(struct cursor *cursor)
{
	if (cursor->exit == cursor->nexits ||
	    (cursor->count && cursor->exits[cursor->exit]->end >= cursor->heap[0].time))
		return NULL;
	return cursor->exits[cursor->exit++];
}

static int64_t exit_time(const struct cursor *cursor)
{
	return cursor->exit == cursor->nexits ? INT64_MAX : cursor->exits[cursor->exit]->end;
}

const struct cursor_methods reading_whole = {
	.open = open_whole,
	.object_at = object_at,
	.qp_at = qp_at,
	.next_exit = next_exit,
	.at_end = close_stream,
	.exit_time = exit_time,
};
