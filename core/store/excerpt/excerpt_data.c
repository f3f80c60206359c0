/*
 * The data plane of an excerpt
 *
 * For each thread, blocks are read from chunks or from plain tables, and included rows are added to
 * batches, column by column. Two values change: the number of requests or completions of an event,
 * which is also the result of a poll; and the verb of the first included poll of a batch of an
 * extended CQ, which becomes ibv_start_poll().
 */
#include "core/store/excerpt/excerpt_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/chunk/batch.h"
#include "core/store/chunk/block.h"
#include "core/store/read/plain.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

/* A row of table `poll_count`, and its included part. */
struct poll_count {
	uint64_t handle, life;
	int64_t last, last_in;
	uint64_t polls, completions, empty;
	uint64_t all_empty; /* number of empty polls in the whole trace */
	uint32_t process, cq;
};

struct copy_data {
	struct excerpt_copy *copy;
	uint32_t thread, process;
	struct block block;
	struct block_position position;
	struct batch batch;
	struct packer packer;
	sqlite3_stmt *insert;
	bool gap;       /* was the last event excluded? */
	uint64_t older; /* number of events excluded by excerpt->cut; their first and last time */
	int64_t oldest, newest;
	/* CQ whose ibv_start_poll() was excluded; 0: a later poll of the batch was included */
	uint64_t begun;
	bool *rows; /* of the current event: is the row included? */
	size_t rows_size;
	struct excerpt_included kept;
	struct poll_count *counts;
	size_t ncounts;
};

static int fail_data(const struct copy_data *d, int err)
{
	if (err == -EBADMSG)
		return log_why(-EINVAL,
			       "%s is damaged: posts and polls of thread %u cannot be read",
			       d->copy->path, d->thread);
	return err == -ENOMEM ? log_err(err, "copy posts and polls") : err;
}

/* Chunks */

static int store_batch(struct copy_data *d)
{
	const struct batch *batch = &d->batch;
	int err;

	if (!batch_events(batch))
		return 0;
	err = packer_pack(&d->packer, batch);
	if (err)
		return fail_data(d, err);
	err = sql_run(d->insert, "uiiiiub", d->thread, batch->first_n, batch->last_n, batch->begin,
		      batch->end, batch_events(batch), d->packer.bytes, d->packer.used);
	batch_clear(&d->batch);
	return err;
}

/* Copy a row of a family, whose columns are consecutive in the list. */
static void copy_row(struct copy_data *d, enum family family, uint32_t row)
{
	enum column_id id = 0;

	while (column_family[id] != family)
		id++;
	for (; id < COLUMN_COUNT && column_family[id] == family; id++)
		column_put(&d->batch.columns[id], block_get(&d->block, id, row));
}

static void copy_changed(struct copy_data *d, enum family family, uint32_t row,
			 const enum column_id *changed, const uint64_t *values, size_t n)
{
	enum column_id id = 0;

	while (column_family[id] != family)
		id++;
	for (; id < COLUMN_COUNT && column_family[id] == family; id++) {
		uint64_t value = block_get(&d->block, id, row);

		for (size_t i = 0; i < n; i++)
			if (changed[i] == id)
				value = values[i];
		column_put(&d->batch.columns[id], value);
	}
}

static void copy_event(struct copy_data *d, uint32_t kind)
{
	static const enum column_id changed[] = { COLUMN_kind };
	uint32_t row = d->position.at[FAMILY_EVENT];
	uint64_t n = block_get(&d->block, COLUMN_n, row), value = kind;
	int64_t time = (int64_t)block_get(&d->block, COLUMN_time, row);

	if (!batch_events(&d->batch)) {
		d->batch.first_n = n;
		d->batch.begin = time;
	}
	d->batch.last_n = n;
	d->batch.end = time;
	copy_changed(d, FAMILY_EVENT, row, changed, &value, 1);
}

/* Copy the request at the iterator's position, with its parts and elements. */
static void copy_request(struct copy_data *d)
{
	const struct block_position *at = &d->position;
	uint32_t row = at->at[FAMILY_WR];
	unsigned int parts = (unsigned int)block_get(&d->block, COLUMN_parts, row);
	uint32_t nsge = (uint32_t)block_get(&d->block, COLUMN_nsge, row);

	copy_row(d, FAMILY_WR, row);
	if (parts & WR_RDMA)
		copy_row(d, FAMILY_RDMA, at->at[FAMILY_RDMA]);
#define COPY_PART(NAME, part)  \
	if (parts & WR_##NAME) \
		copy_row(d, FAMILY_##NAME, at->at[FAMILY_##NAME]);
	EACH_RARE_PART(COPY_PART)
#undef COPY_PART
	for (uint32_t i = 0; i < nsge; i++)
		copy_row(d, FAMILY_SGE, at->at[FAMILY_SGE] + i);
}

/* Which rows are included */

static struct excerpt_item item_of(const struct copy_data *d, enum excerpt_kind kind,
				   uint64_t handle)
{
	uint32_t row = d->position.at[FAMILY_EVENT];
	uint32_t what = block_event_kind(&d->block, &d->position) & KIND_MASK;

	return (struct excerpt_item){ .kind = kind,
				      .id = { d->thread, block_get(&d->block, COLUMN_n, row) },
				      .process = d->process,
				      .time = (int64_t)block_get(&d->block, COLUMN_time, row),
				      .handle = handle,
				      .srq = what == KIND_POST_SRQ_RECV,
				      .wq = what == KIND_POST_WQ_RECV };
}

static int reserve_rows(struct copy_data *d, uint32_t n)
{
	return vec_reserve(d->rows, d->rows_size, n) ? -ENOMEM : 0;
}

/*
 * Set d->rows for the @n requests or completions of @item's event. Returns how many are included.
 */
static uint32_t choose_rows(struct copy_data *d, struct excerpt_item *item, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		item->i = i;
		if (item->kind == EXCERPT_COMPLETION)
			item->qp_num = (uint32_t)block_get(&d->block, COLUMN_qp_num,
							   d->position.at[FAMILY_WC] + i);
		d->rows[i] = excerpt_has(d->copy, item);
		kept += d->rows[i];
	}
	return kept;
}

static int note_rows(struct copy_data *d, uint64_t n, uint32_t count)
{
	for (uint32_t i = 0; i < count && d->copy->has_payload; i++) {
		struct excerpt_row *row =
			d->rows[i] ? NULL : vec_push(d->kept.left_out, d->kept.nleft_out);

		if (row)
			*row = (struct excerpt_row){ n, i };
		else if (!d->rows[i])
			return -ENOMEM;
	}
	return 0;
}

/* Note that event @n, at the iterator's position, is included. */
static int note_event(struct copy_data *d, uint64_t n)
{
	struct excerpt_run *run = d->kept.nruns ? &d->kept.runs[d->kept.nruns - 1] : NULL;

	excerpt_count(d->copy, d->thread, n);
	if (!run || d->gap) {
		run = d->copy->has_payload ? vec_push(d->kept.runs, d->kept.nruns) : NULL;
		if (d->copy->has_payload && !run)
			return -ENOMEM;
		if (run)
			run->first = n;
	}
	if (run)
		run->last = n;
	d->gap = false;
	return 0;
}

/* Events */

/*
 * Copy a post. Of a failed one all requests are included, since any of them may have caused the
 * failure.
 */
static int copy_post_event(struct copy_data *d)
{
	static const enum column_id changed[] = { COLUMN_nwr };
	uint32_t row = d->position.at[FAMILY_POST];
	uint32_t nwr = (uint32_t)block_get(&d->block, COLUMN_nwr, row), kept;
	uint64_t handle = block_get(&d->block, COLUMN_post_handle, row);
	bool failed = (int32_t)block_get(&d->block, COLUMN_post_ret, row);
	struct excerpt_item item = item_of(d, EXCERPT_POST, handle);
	uint64_t value;
	int err = reserve_rows(d, nwr);

	if (err || !excerpt_has(d->copy, &item))
		return err;
	item.kind = EXCERPT_REQUEST;
	kept = choose_rows(d, &item, nwr);
	if (nwr && !kept)
		return 0;
	if (failed && kept < nwr) {
		memset(d->rows, true, nwr * sizeof(*d->rows));
		kept = nwr;
	}
	err = note_event(d, item.id.n);
	excerpt_need_stack(d->copy, block_get(&d->block, COLUMN_post_stack, row));
	if (!err && kept < nwr)
		err = note_rows(d, item.id.n, nwr);
	copy_event(d, block_event_kind(&d->block, &d->position));
	value = kept;
	copy_changed(d, FAMILY_POST, row, changed, &value, 1);
	for (uint32_t i = 0; i < nwr; i++) {
		if (d->rows[i])
			copy_request(d);
		block_skip_wr(&d->block, &d->position);
	}
	return err ?: 1;
}

static void count_poll(struct copy_data *d, const struct excerpt_item *item, uint32_t nwc,
		       uint64_t empty)
{
	for (size_t i = 0; i < d->ncounts; i++) {
		struct poll_count *count = &d->counts[i];

		if (count->handle != item->handle || count->last < item->time)
			continue;
		count->polls++;
		count->completions += nwc;
		count->empty += empty;
		count->last_in = item->time;
		return;
	}
}

/* The kind of the current poll. The first included poll of a batch becomes its ibv_start_poll(). */
static uint32_t kind_of_poll(struct copy_data *d, uint64_t handle, bool in)
{
	uint32_t flags = block_event_kind(&d->block, &d->position), kind = flags & KIND_MASK;
	bool cut = kind == KIND_NEXT_POLL && d->begun == handle;

	if (kind == KIND_START_POLL && !in)
		d->begun = handle;
	else if (in && d->begun == handle)
		d->begun = 0;
	return cut ? (flags & ~(uint32_t)KIND_MASK) | KIND_START_POLL : flags;
}

static int copy_poll(struct copy_data *d, const struct excerpt_item *item, uint32_t nwc,
		     uint32_t kept)
{
	static const enum column_id changed[] = { COLUMN_nwc, COLUMN_poll_ret };
	uint32_t row = d->position.at[FAMILY_POLL], kind = kind_of_poll(d, item->handle, true);
	int32_t ret = (int32_t)block_get(&d->block, COLUMN_poll_ret, row);
	uint64_t values[2] = { kept,
			       (uint64_t)(int64_t)(ret > 0 && kept < nwc ? (int32_t)kept : ret) };
	int err = note_event(d, item->id.n);

	excerpt_need_stack(d->copy, block_get(&d->block, COLUMN_poll_stack, row));
	if (!err && kept < nwc)
		err = note_rows(d, item->id.n, nwc);
	copy_event(d, kind);
	copy_changed(d, FAMILY_POLL, row, changed, values, 2);
	for (uint32_t i = 0; i < nwc; i++) {
		if (d->rows[i])
			copy_row(d, FAMILY_WC, d->position.at[FAMILY_WC]);
		if (d->rows[i] && kind & KIND_EXTRA)
			copy_row(d, FAMILY_EXTRA, d->position.at[FAMILY_EXTRA]);
		block_skip_wc(&d->block, &d->position);
	}
	count_poll(d, item, kept, block_get(&d->block, COLUMN_empty, row));
	return err ?: 1;
}

static int copy_poll_event(struct copy_data *d)
{
	uint32_t row = d->position.at[FAMILY_POLL], kept = 0;
	uint32_t nwc = (uint32_t)block_get(&d->block, COLUMN_nwc, row);
	uint64_t handle = block_get(&d->block, COLUMN_poll_handle, row);
	struct excerpt_item item = item_of(d, EXCERPT_POLL, handle);
	bool in = excerpt_has(d->copy, &item);
	int err = reserve_rows(d, nwc);

	if (err)
		return err;
	item.kind = EXCERPT_COMPLETION;
	if (in && nwc)
		kept = choose_rows(d, &item, nwc);
	if (in && (kept || !nwc))
		return copy_poll(d, &item, nwc, kept);
	kind_of_poll(d, handle, false);
	return 0;
}

static int copy_notify_event(struct copy_data *d)
{
	uint32_t row = d->position.at[FAMILY_NOTIFY];
	struct excerpt_item item =
		item_of(d, EXCERPT_NOTIFY, block_get(&d->block, COLUMN_notify_handle, row));

	if (!excerpt_has(d->copy, &item))
		return 0;
	copy_event(d, block_event_kind(&d->block, &d->position));
	copy_row(d, FAMILY_NOTIFY, row);
	return note_event(d, item.id.n) ?: 1;
}

static void note_left_out(struct copy_data *d)
{
	uint32_t row = d->position.at[FAMILY_EVENT];
	int64_t time = (int64_t)block_get(&d->block, COLUMN_time, row);

	d->gap = true;
	if (time >= d->copy->excerpt->cut)
		return;
	if (!d->older)
		d->oldest = time;
	d->newest = time;
	d->older++;
}

static int copy_next_event(struct copy_data *d)
{
	uint32_t kind = block_event_kind(&d->block, &d->position) & KIND_MASK;
	int taken = kind_is_post(kind)   ? copy_post_event(d)
		    : kind_is_poll(kind) ? copy_poll_event(d)
					 : copy_notify_event(d);

	if (taken < 0)
		return taken;
	if (!taken)
		note_left_out(d);
	block_skip_event(&d->block, &d->position, !taken);
	return 0;
}

static int copy_block_events(struct copy_data *d)
{
	uint32_t events = block_count(&d->block, COLUMN_n);
	int err = 0;

	d->position = (struct block_position){ 0 };
	while (!err && d->position.at[FAMILY_EVENT] < events) {
		err = copy_next_event(d);
		if (!err && batch_full(&d->batch))
			err = store_batch(d);
	}
	return fail_data(d, err);
}

/* Blocks */

static int copy_chunk_events(struct copy_data *d)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(d->copy->from,
			      "SELECT data FROM chunk WHERE thread = ? ORDER BY first_n", &stmt);

	if (err)
		return err;
	sql_bind(stmt, "u", d->thread);
	while (!err && (err = sql_step(stmt)) > 0) {
		err = fail_data(d, block_load_all(&d->block, sqlite3_column_blob(stmt, 0),
						  (size_t)sqlite3_column_bytes(stmt, 0)));
		if (!err)
			err = copy_block_events(d);
	}
	sqlite3_finalize(stmt);
	return err;
}

static int copy_plain_rows(struct copy_data *d)
{
	struct plain_tables *plain = NULL;
	int err = plain_open(d->copy->from, d->thread, &plain);

	while (!err && (err = plain_load(plain, &d->block)) > 0)
		err = copy_block_events(d);
	plain_close(plain);
	return err;
}

/* Counted polls */

static int load_counts(struct copy_data *d)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(d->copy->from,
			      "SELECT handle, life, last, process, cq, empty FROM poll_count"
			      " WHERE thread = ? ORDER BY handle, life",
			      &stmt);

	if (err)
		return err;
	sql_bind(stmt, "u", d->thread);
	while (!err && (err = sql_step(stmt)) > 0) {
		struct poll_count *count = vec_push(d->counts, d->ncounts);

		if (count)
			*count = (struct poll_count){
				.handle = (uint64_t)sqlite3_column_int64(stmt, 0),
				.life = (uint64_t)sqlite3_column_int64(stmt, 1),
				.last = sql_time(stmt, 2),
				.process = sql_u32(stmt, 3),
				.cq = sql_u32(stmt, 4),
				.all_empty = (uint64_t)sqlite3_column_int64(stmt, 5),
			};
		err = count ? 0 : log_err(-ENOMEM, "copy counts of polls");
	}
	sqlite3_finalize(stmt);
	return err;
}

/*
 * Empty polls have no time; so, if the excerpt ends early, those after the last included poll are
 * not counted.
 */
static int store_count(struct copy_data *d, sqlite3_stmt *insert, const struct poll_count *count)
{
	struct event_id none = { d->thread, 0 };
	bool early = !excerpt_includes_time(d->copy->excerpt, none, count->last);

	if (early && !count->polls)
		return 0;
	return sql_run(insert, "uiiuziiii", d->thread, count->handle, count->life, count->process,
		       count->cq, count->polls, count->completions,
		       early ? count->empty : count->all_empty,
		       early ? count->last_in : count->last);
}

static int store_counts(struct copy_data *d)
{
	sqlite3_stmt *insert;
	int err = sql_prepare(d->copy->to,
			      "INSERT INTO poll_count VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", &insert);

	for (size_t i = 0; i < d->ncounts && !err; i++)
		err = store_count(d, insert, &d->counts[i]);
	sqlite3_finalize(insert);
	return err;
}

/* Count excluded events before the cut as overwritten, as a flight recorder does. */
static int store_older_loss(struct copy_data *d)
{
	sqlite3_stmt *stmt;
	int err;

	if (!d->older)
		return 0;
	err = sql_prepare(d->copy->to,
			  "INSERT INTO loss VALUES(?1, ?2, ?3, ?4, ?5, ?3) ON CONFLICT(thread)"
			  " DO UPDATE SET events = events + ?3, first = min(first, ?4),"
			  " last = max(last, ?5), overwritten = coalesce(overwritten, 0) + ?3",
			  &stmt);
	if (!err)
		err = sql_run(stmt, "uuiii", d->thread, d->process, d->older, d->oldest, d->newest);
	sqlite3_finalize(stmt);
	return err;
}

static void fini_data(struct copy_data *d)
{
	sqlite3_finalize(d->insert);
	block_fini(&d->block);
	batch_fini(&d->batch);
	packer_fini(&d->packer);
	free(d->rows);
	free(d->counts);
	free(d->kept.runs);
	free(d->kept.left_out);
}

int excerpt_copy_data(struct excerpt_copy *copy, uint32_t thread)
{
	const struct thread *t = trace_thread(copy->trace, thread);
	struct copy_data d = { .copy = copy, .thread = thread, .process = t ? t->process : 0 };
	int err = sql_prepare(copy->to, "INSERT INTO chunk VALUES(NULL, ?, ?, ?, ?, ?, ?, ?)",
			      &d.insert);

	if (!err)
		err = load_counts(&d);
	if (!err)
		err = copy->plain ? copy_plain_rows(&d) : copy_chunk_events(&d);
	if (!err)
		err = store_batch(&d);
	if (!err)
		err = store_counts(&d);
	if (!err)
		err = store_older_loss(&d);
	if (!err && copy->has_payload)
		err = excerpt_copy_payload(copy, thread, &d.kept);
	fini_data(&d);
	return err;
}
