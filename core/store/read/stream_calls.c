/*
 * The calls of one thread of a whole trace
 *
 * Calls that are rows of table `call`, and calls in blocks of table `call_chunk`, are merged by
 * their numbers. A block is decoded when its first call is needed, and calls are read from it
 * without SQLite: through a virtual table, reading a call would take twice as long.
 *
 * Not here: calls from rows (stream_row.c), the virtual table (core/store/db/call_tables.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/base/vec.h"
#include "core/store/read/stream_priv.h"
#include "core/wire/log.h"

static const char rows_sql[] =
	"SELECT " STREAM_CALL_COLUMNS " FROM main.call WHERE thread = ? ORDER BY n";

static const char blocks_sql[] =
	"SELECT first_n, last_n, calls, data FROM main.call_chunk WHERE thread = ?"
	" ORDER BY first_n";

int stream_step_to_due(sqlite3_stmt *stmt, int time_column, struct due_event *ret_due)
{
	int more = sql_step(stmt);

	*ret_due = stream_never;
	if (more > 0)
		*ret_due = (struct due_event){ (uint64_t)sqlite3_column_int64(stmt, 0),
					       sql_time(stmt, time_column) };
	return more < 0 ? more : 0;
}

int stream_open_calls(struct stream *s)
{
	int err = sql_prepare(s->db, rows_sql, &s->calls);

	if (!err)
		sql_bind(s->calls, "u", s->thread);
	if (err || !sql_has_table(s->db, "call_chunk")) /* or an older format */
		return err;
	err = sql_prepare(s->db, blocks_sql, &s->blocks.stmt);
	if (!err)
		sql_bind(s->blocks.stmt, "u", s->thread);
	return err;
}

static int refuse_block(const struct stream *s)
{
	return log_why(-EINVAL,
		       "thread %u: the block of calls at event %lld is damaged; events before it "
		       "can be read with `verbatim dump`",
		       s->thread, (long long)sqlite3_column_int64(s->blocks.stmt, 0));
}

static void free_forms(struct stream_blocks *b)
{
	for (size_t i = 0; i < b->nforms; i++)
		args_form_free(b->forms[i].form);
	free(b->forms);
	b->forms = NULL;
	b->nforms = 0;
}

/* Decode the block in the current row of @s->blocks.stmt. */
static int load_block(struct stream *s)
{
	struct stream_blocks *b = &s->blocks;
	const struct call_block *block = &b->block;
	int err = call_block_read(&b->block, sqlite3_column_blob(b->stmt, 3),
				  (size_t)sqlite3_column_bytes(b->stmt, 3));

	free_forms(b);
	if (err)
		return err == -EBADMSG ? refuse_block(s) : log_err(err, "read calls");
	b->loaded = true;
	stream_count_held(s);
	/* blocks are merged by event numbers, so these must increase */
	if (block->calls != sqlite3_column_int64(b->stmt, 2) ||
	    call_block_n(block, 0) != (uint64_t)sqlite3_column_int64(b->stmt, 0) ||
	    call_block_n(block, block->calls - 1) != (uint64_t)sqlite3_column_int64(b->stmt, 1) ||
	    call_block_n(block, 0) <= b->past || call_block_n(block, block->calls - 1) > INT64_MAX)
		return refuse_block(s);
	return 0;
}

static int next_block(struct stream *s)
{
	struct stream_blocks *b = &s->blocks;
	int more = sql_step(b->stmt);

	b->more = more > 0;
	b->at = 0;
	b->loaded = false;
	if (more > 0)
		return load_block(s);
	call_block_fini(&b->block);
	stream_count_held(s);
	return more;
}

/* Step past the call that was returned last: a row, or a call in a block. */
static int step_past_call(struct stream *s)
{
	struct stream_blocks *b = &s->blocks;
	int err = 0;

	if (!b->taken)
		return stream_step_to_due(s->calls, 2, &b->row);
	if (!b->loaded) /* stream_release() has freed it */
		err = load_block(s);
	if (!err && ++b->at >= b->block.calls) {
		b->past = call_block_n(&b->block, b->block.calls - 1);
		err = next_block(s);
	}
	return err;
}

int stream_due_call(struct stream *s)
{
	struct stream_blocks *b = &s->blocks;
	int err = step_past_call(s);

	if (!err && b->stmt && !b->begun)
		err = next_block(s);
	b->begun = true;
	s->due[CALL] = b->row;
	b->taken = false;
	if (err || !b->more)
		return err;
	if (!b->loaded)
		err = load_block(s);
	if (!err && call_block_n(&b->block, b->at) < b->row.n) {
		b->taken = true;
		s->due[CALL] = (struct due_event){ call_block_n(&b->block, b->at),
						   span_limit(call_block_begin(&b->block, b->at)) };
	}
	return err;
}

/* calls with the same form: for fewer, learning the form takes longer than parsing them */
enum { FEW = 4 };

/* Fill the arguments from the block. NULL: the JSON must be parsed. */
static struct args *fill_args(struct stream_blocks *b, enum args_side side)
{
	struct call_holes holes;
	struct call_form *at;

	if (!call_block_holes(&b->block, b->at, side == ARGS_OUT, &holes) || holes.calls < FEW ||
	    !holes.n)
		return NULL;
	at = vec_at(b->forms, b->nforms, holes.form);
	if (!at)
		return NULL;
	if (!at->sought)
		*at = (struct call_form){ args_form_new(&holes), true };
	return at->form ? args_fill(at->form, &holes) : NULL;
}

static int read_args(struct stream *s, int verb, enum args_side side, struct args **ret_args)
{
	struct stream_blocks *b = &s->blocks;
	const char *json;

	*ret_args = fill_args(b, side);
	if (*ret_args)
		return 0;
	json = call_block_args(&b->block, b->at, side == ARGS_OUT, &b->args);
	if (b->args.used > CALL_ARGS_MAX)
		return refuse_block(s);
	if (json)
		*ret_args = args_new_of((enum verb)verb, side, json, b->args.used);
	return b->args.failed || (json && !*ret_args) ? log_err(-ENOMEM, "read calls") : 0;
}

static int read_from_block(struct stream *s, struct open_call *open)
{
	struct call *call = &open->call;
	struct call_row row;
	int verb, err;

	call_block_row(&s->blocks.block, s->blocks.at, &row);
	open->id = (struct event_id){ s->thread, row.n };
	verb = verb_find(row.verb);
	if (verb < 0)
		return log_why(-EINVAL, "call %u:%" PRIu64 " has an unknown verb", s->thread,
			       row.n);
	err = read_args(s, verb, ARGS_IN, &call->args) ?: read_args(s, verb, ARGS_OUT, &call->out);
	if (err)
		return err;
	call->verb = stream_verb_of(verb, call->args);
	call->begin = span_limit(row.begin);
	call->end = span_limit(row.end);
	call->ret = row.ret;
	call->error = (int)row.error;
	call->failed = row.failed;
	call->depth = row.depth;
	call->ours = row.ours;
	call->stack = row.stack;
	/* an object that this trace does not have is unknown */
	call->object = trace_object(s->trace, row.object) ? row.object : 0;
	call->handle = row.handle;
	open->end_n = call->end < 0 ? UINT64_MAX : row.end_n;
	return 0;
}

int stream_read_due_call(struct stream *s)
{
	int err;

	if (!s->blocks.taken)
		return stream_read_call(s, &s->current);
	err = s->blocks.loaded ? 0 : load_block(s);
	return err ?: read_from_block(s, &s->current);
}

void stream_release_calls(struct stream *s)
{
	/* they can be read again: the statement is still at the row of the block */
	call_block_fini(&s->blocks.block);
	free_forms(&s->blocks);
	s->blocks.loaded = false;
	stream_count_held(s);
}

void stream_close_calls(struct stream *s)
{
	sqlite3_finalize(s->blocks.stmt);
	text_fini(&s->blocks.args);
	stream_release_calls(s);
}
