/*
 * Events carried over a cut: earlier requests, completions and armed CQs
 *
 * A trace that begins at a cut must have these posts and polls, under their own numbers and times.
 * They are packed into chunks, and stay in memory until the chunks before the cut are deleted.
 *
 * Not here: the list of outstanding requests (outstanding.c), creating and applying a cut (cut.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/db/args.h"
#include "core/store/write/cut_priv.h"
#include "core/store/write/outstanding.h"

enum {
	POST_WRS = 256, /* maximum requests of one struct event_post in these chunks */
	EVENT_BYTES = UINT16_MAX * 8,
};

/* State of packing the carried events into chunks. */
struct chunk_carrier {
	struct writer *writer;
	struct cut *cut;
	struct batch batch;
	uint32_t thread; /* thread of the batch */
	uint8_t *event;  /* buffer of EVENT_BYTES */
};

void cut_control_fini(struct control_cut *cut)
{
	free(cut->ends);
	free(cut->open);
	*cut = (struct control_cut){ .time = INT64_MIN };
}

void cut_fini(struct cut *cut)
{
	for (size_t i = 0; i < cut->nchunks; i++)
		free(cut->chunks[i].data);
	free(cut->chunks);
	free(cut->stacks);
	cut_control_fini(&cut->control);
}

static bool has_thread(const struct cut *cut, uint32_t thread)
{
	for (size_t i = 0; i < cut->nchunks; i++)
		if (cut->chunks[i].thread == thread)
			return true;
	return false;
}

bool cut_has_thread(const struct writer *writer, uint32_t thread)
{
	if (writer->base && has_thread(writer->base, thread))
		return true;
	for (size_t i = 0; i < writer->ncuts; i++)
		if (has_thread(&writer->cuts[i], thread))
			return true;
	return false;
}

static void mark_cut_stacks(const struct cut *cut, void (*mark)(void *arg, uint32_t stack),
			    void *arg)
{
	for (size_t i = 0; i < cut->nstacks; i++)
		mark(arg, cut->stacks[i]);
}

void cut_mark_stacks(const struct writer *writer, void (*mark)(void *arg, uint32_t stack),
		     void *arg)
{
	if (writer->base)
		mark_cut_stacks(writer->base, mark, arg);
	for (size_t i = 0; i < writer->ncuts; i++)
		mark_cut_stacks(&writer->cuts[i], mark, arg);
}

static struct event_place index_of(const struct thread_log *log, uint64_t n, int64_t time,
				   uint32_t stack)
{
	return (struct event_place){ log->id, log->process, stack, n, time };
}

int writer_note_outstanding_post(struct writer *writer, struct thread_log *log,
				 const struct event_post *event, const struct cut_part *part)
{
	struct event_place at = index_of(log, part->n, part->time, part->stack);

	return writer_fail(writer,
			   outstanding_note_post(writer->outstanding, &at, event, part->first));
}

int writer_note_outstanding_poll(struct writer *writer, struct thread_log *log,
				 const struct event_poll *event, uint64_t n, int64_t time,
				 uint32_t stack)
{
	struct event_place at = index_of(log, n, time, stack);

	return writer_fail(writer, outstanding_note_poll(writer->outstanding, &at, event));
}

int writer_note_outstanding_arming(struct writer *writer, struct thread_log *log,
				   const struct event_notify *event, uint64_t n, int64_t time)
{
	struct event_place at = index_of(log, n, time, 0);

	return writer_fail(writer, outstanding_note_arming(writer->outstanding, &at, event));
}

/*
 * Pass a call on to needed.c and outstanding.c. Its arguments are parsed again only if these need
 * them.
 */
int writer_note_outstanding_call(struct writer *writer, const struct thread_log *log,
				 const struct call_in_progress *call, const char *out, int64_t time)
{
	struct outstanding_note_call now = { .process = log->process,
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
	err = outstanding_note_call(writer->outstanding, &now);
	args_unref(in);
	args_unref(made);
	return writer_fail(writer, err);
}

/* Packing outstanding requests into chunks */

static int end_chunk(struct chunk_carrier *c)
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

static void end_event(struct chunk_carrier *c, size_t bytes, enum event_type type, uint8_t flags)
{
	struct event_head *head = (void *)c->event;

	*head = (struct event_head){ .words = (uint16_t)(bytes / 8), .type = type, .flags = flags };
}

/* Copy up to POST_WRS requests of one post into the next trace. Returns their number, or -errno. */
static ssize_t carry_requests(struct chunk_carrier *c, const struct outstanding_item *items,
			      size_t n)
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

static int carry_post(struct chunk_carrier *c, const struct outstanding_item *items, size_t n)
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

/* Copy a poll into the next trace. The first poll of a batch must be its ibv_start_poll(). */
static int carry_poll(struct chunk_carrier *c, const struct outstanding_item *items, size_t n)
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

/*
 * Copy the first of @left items together with the other items of its event. Returns their number,
 * or -errno.
 */
static ssize_t carry_event(struct chunk_carrier *c, const struct outstanding_item *items,
			   size_t left)
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
 * The time from which on destroyed objects must remain in the trace for the item. A post to a live
 * queue uses live objects only: in a trace with a size limit, its age must not prevent the deletion
 * of everything that was destroyed later.
 */
static int64_t needed_since(const struct writer *writer, const struct outstanding_item *item)
{
	uint64_t queue = item->notify ? item->notify->cq : item->object;

	if (!writer->most || item->at.time > writer->last_cut ||
	    !needed_is_alive(writer->needed, item->at.process, queue))
		return item->at.time;
	return writer->last_cut;
}

/*
 * Drop the items that a trace with a size limit does not carry: those of destroyed queues, if they
 * are older than all events of the trace. Returns how many are left, or -ENOMEM.
 */
static ssize_t note_items(struct writer *writer, struct cut *cut, struct outstanding_item *items,
			  size_t count)
{
	int64_t begin = writer->most && writer->base ? writer->base->time : INT64_MIN;
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t since = needed_since(writer, &items[i]);

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

int cut_carry(struct writer *writer, struct cut *cut)
{
	struct chunk_carrier c = { .writer = writer, .cut = cut, .event = malloc(EVENT_BYTES) };
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
	outstanding_forget(writer->outstanding, cut->time);
	return err;
}
