/*
 * Cutting a trace: at one moment, for all threads
 *
 *	... chunks ... | cut | chunks ... | cut | chunks ...
 *
 * At a cut all batches become chunks, so that no chunk has events of both sides, and the
 * outstanding requests are packed into chunks as well (cut_carry.c). When the chunks before the cut
 * are deleted, these chunks replace them. Rows of the control plane that no later event needs are
 * deleted (forget.c). Table `loss` has the number of deleted events by thread, and their times;
 * they are counted separately from events that did not fit into a ring.
 *
 * Chunks that a live reader has not read yet are moved to table `unread` of the connection, which
 * is not part of the trace.
 *
 * Not here: when to cut and when to delete (cli/record/retention.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/write/cut_priv.h"
#include "core/store/write/outstanding.h"
#include "core/wire/log.h"

enum { MORE = 128 }; /* number of events after which the file may be significantly larger */

static void free_base(struct writer *writer)
{
	if (writer->base)
		cut_fini(writer->base);
	free(writer->base);
	writer->base = NULL;
}

void writer_free_cuts(struct writer *writer)
{
	free_base(writer);
	for (size_t i = 0; i < writer->ncuts; i++)
		cut_fini(&writer->cuts[i]);
	free(writer->cuts);
	writer->cuts = NULL;
	writer->ncuts = 0;
	outstanding_free(writer->outstanding);
	writer->outstanding = NULL;
	forget_fini(writer);
}

bool writer_is_cuttable(const struct writer *writer, int64_t time)
{
	if (writer->outstanding && !outstanding_is_whole(writer->outstanding, time))
		return false;
	for (size_t i = 0; i < writer->nlogs; i++)
		if (writer->logs[i] && writer->logs[i]->batch && writer->logs[i]->batch->open)
			return false;
	return true;
}

static void measure_file(struct writer *writer)
{
	sqlite3_stmt *stmt = writer_statement(writer, STATEMENT_size);
	uint64_t size = writer->size;

	if (sql_step(stmt) > 0)
		size = (uint64_t)sqlite3_column_int64(stmt, 0) * 4096;
	sqlite3_reset(stmt);
	if (size > writer->size)
		writer->grown += size - writer->size;
	writer->size = size;
}

uint64_t writer_size(struct writer *writer)
{
	uint64_t rows;

	measure_file(writer);
	rows = writer->size > writer->kept ? writer->size - writer->kept : 0;
	return writer->size + rows * 3 / 8 + writer->derived;
}

bool writer_may_need_cut(struct writer *writer)
{
	bool more =
		writer->events - writer->looked_at >= MORE || writer->kept != writer->looked_kept;

	if (more) {
		writer->looked_at = writer->events;
		writer->looked_kept = writer->kept;
	}
	return more;
}

uint64_t writer_bytes_since_cut(struct writer *writer)
{
	measure_file(writer);
	return writer->grown - writer->grown_to_cut + writer->derived - writer->derived_to_cut;
}

uint64_t writer_calls_since_cut(const struct writer *writer)
{
	uint64_t calls = writer->needed ? needed_size(writer->needed).calls : 0;

	return calls > writer->calls_at_cut ? calls - writer->calls_at_cut : 0;
}

/* Store all batches as chunks. A post whose last event is missing counts as complete. */
static int flush_batches(struct writer *writer)
{
	for (size_t i = 0; i < writer->nlogs && !writer->err; i++) {
		struct thread_log *log = writer->logs[i];

		if (log && !log->ended) {
			batch_close(log->batch);
			thread_log_store(writer, log);
			calls_cut(log);
		}
	}
	return writer->err;
}

int writer_cut(struct writer *writer, int64_t time)
{
	struct cut *cut;
	int err;

	if (writer->err || flush_batches(writer))
		return writer->err;
	cut = vec_push(writer->cuts, writer->ncuts);
	if (!cut)
		return writer_fail(writer, log_err(-ENOMEM, "cut the trace"));
	cut->time = time;
	cut->chunk = sql_int(writer->db, "SELECT max(id) FROM chunk", 0);
	cut->payload_chunk = sql_int(writer->db, "SELECT max(id) FROM payload_chunk", 0);
	cut->bytes = writer->kept - writer->kept_to_cut;
	writer->kept_to_cut = writer->kept;
	cut->control.derived = writer->derived - writer->derived_to_cut;
	writer->derived_to_cut = writer->derived;
	measure_file(writer);
	writer->grown_to_cut = writer->grown;
	cut->control.time = cut->control.limit = time;
	err = forget_note_cut(writer, &cut->control);
	if (!err && writer->outstanding)
		err = cut_carry(writer, cut);
	if (!err)
		err = forget_before_cut(writer, &cut->control);
	writer->last_cut = time;
	writer->calls_at_cut = writer->needed ? needed_size(writer->needed).calls : 0;
	return err ? writer_fail(writer, log_err(err, "cut the trace")) : 0;
}

/* Deleting events before a cut */

/* Delete the carried events at the beginning of the trace from the table, but remember them. */
static int hide_base(struct writer *writer)
{
	char sql[96];
	int err = 0;

	snprintf(sql, sizeof(sql), "DELETE FROM chunk WHERE id BETWEEN %lld AND %lld",
		 (long long)writer->base_first, (long long)writer->base_last);
	if (writer->base_first)
		err = sql_exec(writer->db, sql);
	if (!err)
		err = sql_exec(writer->db, "DELETE FROM meta WHERE key = 'cut'");
	writer->base_first = writer->base_last = 0;
	return writer_fail(writer, err);
}

static int show_base(struct writer *writer)
{
	const struct cut *base = writer->base;

	int64_t first = 0;

	for (size_t i = 0; !writer->base_first && i < base->nchunks; i++) {
		const struct carried_chunk *c = &base->chunks[i];

		if (WRITER_RUN(writer, chunk, "uiiiiub", c->thread, c->first_n, c->last_n, c->begin,
			       c->end, c->events, c->data, c->bytes))
			return writer->err;
		writer->base_last = sqlite3_last_insert_rowid(writer->db);
		if (!i)
			first = writer->base_last;
	}
	if (first)
		writer->base_first = first;
	if (!writer->outstanding)
		return 0;
	return writer_fail(writer, schema_set_meta_int(writer->db, "cut", base->time));
}

int writer_insert_carried(struct writer *writer)
{
	return writer->base ? show_base(writer) : 0;
}

/* Remove carried events if a live reader follows: it has read them in the previous trace. */
int writer_delete_carried(struct writer *writer)
{
	return writer->followed ? hide_base(writer) : 0;
}

static const char unread_sql[] =
	"CREATE TEMP TABLE IF NOT EXISTS unread(thread INTEGER, first_n INTEGER, begin INTEGER,"
	" data BLOB, events INTEGER, PRIMARY KEY(thread, first_n))";

int writer_follow(struct writer *writer)
{
	int err = sql_exec(writer->db, unread_sql);

	writer->followed = !err;
	writer->read_to = INT64_MIN;
	return err;
}

int writer_note_followed(struct writer *writer, uint32_t thread, uint64_t first_n)
{
	struct thread_log *log = writer->logs[thread - 1];
	char sql[128];

	log->followed = first_n;
	if (!writer->unread)
		return 0;
	snprintf(sql, sizeof(sql), "DELETE FROM unread WHERE thread = %u AND first_n <= %llu",
		 thread, (unsigned long long)first_n);
	return sql_exec(writer->db, sql);
}

void writer_unfollow(struct writer *writer)
{
	writer->followed = false;
	sql_exec(writer->db, "DELETE FROM unread");
}

static int store_unread(struct writer *writer, int64_t chunk)
{
	char sql[160];

	writer->unread = true;
	snprintf(sql, sizeof(sql),
		 "INSERT INTO unread SELECT thread, first_n, begin, data, events"
		 " FROM chunk WHERE id = %lld",
		 (long long)chunk);
	return writer_fail(writer, sql_exec(writer->db, sql));
}

/*
 * Delete the oldest chunk of events or payload whose id is at most @chunk or @payload_chunk.
 * Returns 1; 0 if there is none; or -errno.
 */
static int forget_oldest(struct writer *writer, int64_t chunk, int64_t payload_chunk)
{
	sqlite3_stmt *oldest = writer_statement(writer, STATEMENT_oldest);
	bool payload, unread;
	uint32_t thread;
	int64_t id;
	int found;

	sql_bind(oldest, "ii", chunk, payload_chunk);
	found = sql_step(oldest);
	if (found <= 0) {
		sqlite3_reset(oldest);
		return writer_fail(writer, found);
	}
	id = sqlite3_column_int64(oldest, 0);
	thread = sql_u32(oldest, 1);
	payload = sqlite3_column_type(oldest, 5) == SQLITE_NULL;
	unread = !payload && writer->followed &&
		 (uint64_t)sqlite3_column_int64(oldest, 5) > writer->logs[thread - 1]->followed;
	writer_count_over(writer, writer->logs[thread - 1], sql_u32(oldest, 2),
			  sqlite3_column_int64(oldest, 3), sqlite3_column_int64(oldest, 4));
	sqlite3_reset(oldest);
	if (unread && store_unread(writer, id))
		return writer->err;
	if ((payload ? WRITER_RUN(writer, forget_payload, "i", id)
		     : WRITER_RUN(writer, forget, "i", id)) ||
	    writer_store_loss(writer, writer->logs[thread - 1]))
		return writer->err;
	return 1;
}

static int delete_chunks(struct writer *writer, int64_t chunk, int64_t payload_chunk)
{
	int more;

	do
		more = forget_oldest(writer, chunk, payload_chunk);
	while (more > 0);
	return more;
}

/*
 * Delete the chunks before the oldest cut, and insert the chunks with the events carried over it.
 */
static int apply_cut(struct writer *writer)
{
	struct cut *cut = &writer->cuts[0];
	int err = hide_base(writer);

	if (!err)
		err = delete_chunks(writer, cut->chunk, cut->payload_chunk);
	writer->kept -= cut->bytes;
	writer->kept_to_cut -= cut->bytes;
	free_base(writer);
	writer->base = malloc(sizeof(*writer->base));
	if (!writer->base)
		return writer_fail(writer, log_err(-ENOMEM, "cut the trace"));
	/* the reader has not read up to the cut applied before */
	cut->control.derived += writer->due.derived;
	cut_control_fini(&writer->due);
	writer->due = cut->control;
	cut->control = (struct control_cut){ 0 };
	*writer->base = *cut;
	memmove(writer->cuts, cut + 1, --writer->ncuts * sizeof(*writer->cuts));
	if (!err && !writer->followed)
		err = show_base(writer);
	return err ? err : forget_past(writer);
}

int writer_forget(struct writer *writer, uint64_t keep)
{
	/* in case the live reader has meanwhile read up to the last applied cut */
	forget_past(writer);
	while (!writer->err && writer->ncuts && writer_size(writer) > keep)
		apply_cut(writer);
	measure_file(writer);
	return writer->err;
}
