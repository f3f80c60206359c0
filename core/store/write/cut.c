/*
 * Cutting a trace: at one moment, for all threads
 *
 *	... chunks ... | cut | chunks ... | cut | chunks ...
 *
 * At a cut all batches become chunks, so that none has events of both sides, and what is
 * outstanding then (outstanding.c) is packed into chunks as well: the posts and polls of the time
 * before that a trace which begins there must have, under their own numbers and times. These are
 * in memory until the chunks before the cut are deleted; then they take their place.
 *
 * Not here: when to cut and when to delete (cli/record/retention.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/db/args.h"
#include "core/store/write/outstanding.h"
#include "core/store/write/writer_priv.h"
#include "core/wire/log.h"

enum {
	POST_WRS = 256, /* of one struct event_post here */
	MORE = 128,     /* events that may make a difference to the size of the file */
	EVENT_BYTES = UINT16_MAX * 8,
};

struct carried_chunk {
	uint32_t thread, events;
	uint64_t first_n, last_n;
	int64_t begin, end;
	size_t bytes;
	void *data;
};

struct cut {
	int64_t time;
	int64_t chunk, payload_chunk; /* ids of the last ones before it */
	uint64_t bytes;               /* of these, since the cut before */
	struct control_cut control;
	uint32_t *stacks; /* of what is carried */
	size_t nstacks;
	struct carried_chunk *chunks;
	size_t nchunks;
};

/* What is to be carried, on its way into chunks. */
struct carrying {
	struct writer *writer;
	struct cut *cut;
	struct batch batch;
	uint32_t thread; /* of the batch */
	uint8_t *event;  /* EVENT_BYTES of room */
};

static void free_cut(struct cut *cut)
{
	for (size_t i = 0; i < cut->nchunks; i++)
		free(cut->chunks[i].data);
	free(cut->chunks);
	free(cut->stacks);
	forget_cut_fini(&cut->control);
}

static void free_base(struct writer *writer)
{
	if (writer->base)
		free_cut(writer->base);
	free(writer->base);
	writer->base = NULL;
}

void cuts_fini(struct writer *writer)
{
	free_base(writer);
	for (size_t i = 0; i < writer->ncuts; i++)
		free_cut(&writer->cuts[i]);
	free(writer->cuts);
	outstanding_free(writer->outstanding);
	forget_fini(writer);
}

static bool has_thread(const struct cut *cut, uint32_t thread)
{
	for (size_t i = 0; i < cut->nchunks; i++)
		if (cut->chunks[i].thread == thread)
			return true;
	return false;
}

bool cuts_have_thread(const struct writer *writer, uint32_t thread)
{
	if (writer->base && has_thread(writer->base, thread))
		return true;
	for (size_t i = 0; i < writer->ncuts; i++)
		if (has_thread(&writer->cuts[i], thread))
			return true;
	return false;
}

static void mark_cut(const struct cut *cut, void (*mark)(void *arg, uint32_t stack), void *arg)
{
	for (size_t i = 0; i < cut->nstacks; i++)
		mark(arg, cut->stacks[i]);
}

void cuts_mark_stacks(const struct writer *writer, void (*mark)(void *arg, uint32_t stack),
		      void *arg)
{
	if (writer->base)
		mark_cut(writer->base, mark, arg);
	for (size_t i = 0; i < writer->ncuts; i++)
		mark_cut(&writer->cuts[i], mark, arg);
}

/* Events, for outstanding.c */

static struct event_place place_of(const struct thread_log *log, uint64_t n, int64_t time,
				   uint32_t stack)
{
	return (struct event_place){ log->id, log->process, stack, n, time };
}

int cuts_post(struct writer *writer, struct thread_log *log, const struct event_post *event,
	      const struct cut_part *part)
{
	struct event_place at = place_of(log, part->n, part->time, part->stack);

	return writer_fail(writer, outstanding_post(writer->outstanding, &at, event, part->first));
}

int cuts_poll(struct writer *writer, struct thread_log *log, const struct event_poll *event,
	      uint64_t n, int64_t time, uint32_t stack)
{
	struct event_place at = place_of(log, n, time, stack);

	return writer_fail(writer, outstanding_poll(writer->outstanding, &at, event));
}

int cuts_notify(struct writer *writer, struct thread_log *log, const struct event_notify *event,
		uint64_t n, int64_t time)
{
	struct event_place at = place_of(log, n, time, 0);

	return writer_fail(writer, outstanding_notify(writer->outstanding, &at, event));
}

/* Arguments are read again only where they are needed. */
int cuts_call(struct writer *writer, const struct thread_log *log, const struct pending *call,
	      const char *out, int64_t time)
{
	struct outstanding_call now = { .process = log->process,
					.verb = call->verb,
					.handle = call->handle,
					.got = call->got,
					.time = time };
	bool needs = outstanding_needs_args(call->verb);
	struct args *in = needs && call->args ? args_new(call->args, strlen(call->args)) : NULL;
	struct args *made = needs && out ? args_new(out, strlen(out)) : NULL;
	int err;

	now.in = in;
	now.out = made;
	err = outstanding_call(writer->outstanding, &now);
	args_unref(in);
	args_unref(made);
	return writer_fail(writer, err);
}

/* What is outstanding, into chunks */

static int end_chunk(struct carrying *c)
{
	struct packer *packer = &c->writer->packer;
	struct carried_chunk *chunk;

	if (!batch_events(&c->batch))
		return 0;
	chunk = packer_pack(packer, &c->batch) ? NULL : vec_push(c->cut->chunks, c->cut->nchunks);
	if (!chunk)
		return -ENOMEM;
	*chunk = (struct carried_chunk){ .thread = c->thread,
					 .events = batch_events(&c->batch),
					 .first_n = c->batch.first_n,
					 .last_n = c->batch.last_n,
					 .begin = c->batch.begin,
					 .end = c->batch.end,
					 .bytes = packer->used,
					 .data = malloc(packer->used) };
	if (!chunk->data)
		return -ENOMEM;
	memcpy(chunk->data, packer->bytes, packer->used);
	batch_clear(&c->batch);
	return 0;
}

static void end_event(struct carrying *c, size_t bytes, enum event_type type, uint8_t flags)
{
	struct event_head *head = (void *)c->event;

	*head = (struct event_head){ .words = (uint16_t)(bytes / 8), .type = type, .flags = flags };
}

/* Up to POST_WRS requests of one post. Returns how many, or -errno. */
static ssize_t carry_requests(struct carrying *c, const struct outstanding_item *items, size_t n)
{
	struct event_post *post = (void *)c->event;
	uint8_t *at = (uint8_t *)(post + 1);
	size_t taken = n < POST_WRS ? n : POST_WRS;
	int err;

	memset(post, 0, sizeof(*post));
	post->object = items->object;
	post->verb = items->verb & 0x1ff;
	post->nwr = (uint16_t)taken;
	for (size_t i = 0; i < taken; i++, at += items[i - 1].bytes)
		memcpy(at, items[i].wr, items[i].bytes);
	end_event(c, (size_t)(at - c->event), EVENT_POST, taken < n ? EVENT_PART : 0);
	err = batch_post(&c->batch, post, items->at.n, items->at.time, items->at.stack);
	return err ? err : (ssize_t)taken;
}

static int carry_post(struct carrying *c, const struct outstanding_item *items, size_t n)
{
	while (n) {
		ssize_t taken = carry_requests(c, items, n);

		if (taken < 0)
			return (int)taken;
		items += taken;
		n -= (size_t)taken;
	}
	return 0;
}

/* A batch that was begun by ibv_start_poll() is begun by what is left of it. */
static int carry_poll(struct carrying *c, const struct outstanding_item *items, size_t n)
{
	uint8_t flags = items->flags & (EVENT_START | EVENT_EXTRA);
	struct event_poll *poll = (void *)c->event;
	struct event_wc *wcs = (void *)(poll + 1);

	if (items->flags & EVENT_NEXT)
		flags |= EVENT_START;
	memset(poll, 0, sizeof(*poll));
	poll->cq = items->object;
	poll->nwc = (uint32_t)n;
	poll->ret = flags & EVENT_START ? 0 : (int32_t)n;
	for (size_t i = 0; i < n; i++)
		wcs[i] = *items[i].wc;
	poll->head.flags = flags;
	if (flags & EVENT_EXTRA) {
		struct event_wc_extra *extras = (void *)(wcs + n);

		for (size_t i = 0; i < n; i++)
			extras[i] = *items[i].extra;
	}
	end_event(c, event_poll_bytes(poll), EVENT_POLL, flags);
	return batch_poll(&c->batch, poll, items->at.n, items->at.time, 0, items->at.stack);
}

static bool is_same_event(const struct outstanding_item *a, const struct outstanding_item *b)
{
	return a->at.thread == b->at.thread && a->at.n == b->at.n;
}

/* The first of @left items with those of the same event. Returns how many, or -errno. */
static ssize_t carry_event(struct carrying *c, const struct outstanding_item *items, size_t left)
{
	size_t n = 1;
	int err = 0;

	while (n < left && is_same_event(items, &items[n]))
		n++;
	if (c->thread != items->at.thread || batch_full(&c->batch))
		err = end_chunk(c);
	c->thread = items->at.thread;
	if (!err)
		err = items->wr ? carry_post(c, items, n)
		      : items->wc
			      ? carry_poll(c, items, n)
			      : batch_notify(&c->batch, items->notify, items->at.n, items->at.time);
	return err ? err : (ssize_t)n;
}

static int note_stack(struct cut *cut, uint32_t stack)
{
	uint32_t *last = cut->nstacks ? &cut->stacks[cut->nstacks - 1] : NULL, *add;

	if (!stack || (last && *last == stack))
		return 0;
	add = vec_push(cut->stacks, cut->nstacks);
	if (!add)
		return -ENOMEM;
	*add = stack;
	return 0;
}

/*
 * Since when objects that are gone may be named by it. Of a queue that is there, what is posted
 * names memory that is there; but of a trace with a limit an old request must not keep all that has
 * ended since.
 */
static int64_t named_since(const struct writer *writer, const struct outstanding_item *item)
{
	uint64_t queue = item->notify ? item->notify->cq : item->object;

	if (!writer->most || item->at.time > writer->last_cut ||
	    !needed_is_alive(writer->needed, item->at.process, queue))
		return item->at.time;
	return writer->last_cut;
}

/*
 * What a trace with a limit does not carry: of queues that are gone, what is older than all of it.
 * Returns how many are left, or -ENOMEM.
 */
static ssize_t note_items(struct writer *writer, struct cut *cut, struct outstanding_item *items,
			  size_t count)
{
	int64_t begin = writer->most && writer->base ? writer->base->time : INT64_MIN;
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t since = named_since(writer, &items[i]);

		if (since < begin)
			continue;
		if (since < cut->control.limit)
			cut->control.limit = since;
		if (note_stack(cut, items[i].at.stack))
			return -ENOMEM;
		items[left++] = items[i];
	}
	return (ssize_t)left;
}

static int carry_items(struct writer *writer, struct cut *cut)
{
	struct carrying c = { .writer = writer, .cut = cut, .event = malloc(EVENT_BYTES) };
	struct outstanding_item *items = NULL;
	size_t count = 0;
	int err = c.event ? outstanding_list(writer->outstanding, cut->time, &items, &count)
			  : -ENOMEM;

	ssize_t left = err ? err : note_items(writer, cut, items, count);

	err = left < 0 ? (int)left : 0;
	for (size_t i = 0; !err && i < (size_t)left;) {
		ssize_t n = carry_event(&c, &items[i], (size_t)left - i);

		err = n < 0 ? (int)n : 0;
		i += n < 0 ? 0 : (size_t)n;
	}
	if (!err)
		err = end_chunk(&c);
	batch_fini(&c.batch);
	free(c.event);
	free(items);
	return err;
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
	sqlite3_stmt *stmt = writer->statements[STATEMENT_size];
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
	return writer->size + rows * 3 / 8;
}

bool writer_has_more(struct writer *writer)
{
	bool more =
		writer->events - writer->looked_at >= MORE || writer->kept != writer->looked_kept;

	if (more) {
		writer->looked_at = writer->events;
		writer->looked_kept = writer->kept;
	}
	return more;
}

uint64_t writer_uncut(struct writer *writer)
{
	measure_file(writer);
	return writer->grown - writer->grown_to_cut;
}

/* A post whose last part is not there counts as whole. */
static int flush_batches(struct writer *writer)
{
	for (size_t i = 0; i < writer->nlogs && !writer->err; i++) {
		struct thread_log *log = writer->logs[i];

		if (log && !log->ended) {
			batch_close(log->batch);
			thread_log_store(writer, log);
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
	measure_file(writer);
	writer->grown_to_cut = writer->grown;
	cut->control.time = cut->control.limit = time;
	err = forget_note(writer, &cut->control);
	if (!err && writer->outstanding)
		err = carry_items(writer, cut);
	writer->last_cut = time;
	return err ? writer_fail(writer, log_err(err, "cut the trace")) : 0;
}

/* Deleting what is before a cut */

/* What the trace begins with, out of its table, and into it. */
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

int cuts_show(struct writer *writer)
{
	return writer->base ? show_base(writer) : 0;
}

/* A live reader has seen these events. */
int cuts_hide(struct writer *writer)
{
	return writer->followed ? hide_base(writer) : 0;
}

/* The chunks before the oldest cut are deleted, and what it carries takes their place. */
static int apply_cut(struct writer *writer)
{
	struct cut *cut = &writer->cuts[0];
	int err = hide_base(writer);

	if (!err)
		err = keep_forget(writer, cut->chunk, cut->payload_chunk);
	writer->kept -= cut->bytes;
	writer->kept_to_cut -= cut->bytes;
	free_base(writer);
	writer->base = malloc(sizeof(*writer->base));
	if (!writer->base)
		return writer_fail(writer, log_err(-ENOMEM, "cut the trace"));
	forget_cut_fini(&writer->due);
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
	forget_past(writer); /* where the live reader was not as far before */
	while (!writer->err && writer->ncuts && writer_size(writer) > keep)
		apply_cut(writer);
	measure_file(writer);
	return writer->err;
}
