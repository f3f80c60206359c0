/*
 * Writing the events of one thread into columns, and the columns into a chunk
 *
 * A chunk's bytes:
 *
 *	version, number of columns                         1 byte each
 *	for each column that is not empty:
 *		number, code, count                        varints
 *		LINEAR: zigzag_encode(base), zigzag_encode(step)         varints
 *		RAW:    bytes                              varint
 *		ZSTD:   bytes, bytes before compression    varints
 *	the bytes of the RAW and ZSTD columns in the same order
 *
 * Reading one column takes only the directory and the bytes of this column.
 *
 * Not here: the list of columns (core/wire/data.list), reading (block.c).
 */
#include "core/store/chunk/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/store/chunk/abi.h"
#include "gen/verbs_gen.h"

enum { LEVEL = 1 };

#define PUT(batch, name, value) column_put(&(batch)->columns[COLUMN_##name], (uint64_t)(value))

static void put_event(struct batch *batch, uint64_t n, int64_t time, uint32_t kind)
{
	if (!batch_events(batch)) {
		batch->first_n = n;
		batch->begin = time;
	}
	batch->last_n = n;
	batch->end = time;
	PUT(batch, n, n);
	PUT(batch, time, time);
	PUT(batch, kind, kind);
}

/*
 * Check the requests of a post, and that the batch has space: an undamaged post of any length fits.
 */
static int check_wrs(const struct batch *batch, const struct event_post *event)
{
	size_t left = event->head.words * 8u - sizeof(*event);
	const uint8_t *at = (const uint8_t *)(event + 1);
	size_t sges = batch->columns[COLUMN_addr].count;

	for (unsigned int i = 0; i < event->nwr; i++) {
		const struct event_wr *wr = (const void *)at;
		size_t bytes = sizeof(*wr);

		if (left < bytes || wr->parts & ~WR_PARTS_ALL)
			return -EBADMSG;
		bytes += wr_parts_bytes(wr->parts) + wr->nsge * sizeof(struct event_sge);
		if (left < bytes)
			return -EBADMSG;
		sges += wr->nsge;
		at += bytes;
		left -= bytes;
	}
	return left || batch->columns[COLUMN_wr_id].count + event->nwr > BATCH_ROWS_MAX ||
			       sges > BATCH_SGES_MAX
		       ? -EBADMSG
		       : 0;
}

#define PUT_FIELD(family, column, name, member, type, wire) PUT(batch, column, from->member);

static const uint8_t *put_rare_parts(struct batch *batch, unsigned int parts, const uint8_t *at)
{
#define PUT_PART(NAME, part)                                        \
	if (parts & WR_##NAME) {                                    \
		const struct event_##part *from = (const void *)at; \
                                                                    \
		FIELDS_##NAME(PUT_FIELD);                           \
		at += sizeof(*from);                                \
	}
	EACH_RARE_PART(PUT_PART);
#undef PUT_PART
	return at;
}

static const uint8_t *put_rdma(struct batch *batch, const uint8_t *at)
{
	const struct event_rdma *from = (const void *)at;

	FIELDS_RDMA(PUT_FIELD);
	return at + sizeof(*from);
}

static const uint8_t *put_sges(struct batch *batch, const uint8_t *at, unsigned int n)
{
	const struct event_sge *from = (const void *)at;

	for (unsigned int i = 0; i < n; i++, from++) {
		FIELDS_SGE(PUT_FIELD);
	}
	return (const uint8_t *)from;
}

/* Add the request at @at, which check_wrs() has checked. Returns the byte after it. */
static const uint8_t *put_wr(struct batch *batch, const uint8_t *at)
{
	const struct event_wr *from = (const void *)at;

	FIELDS_WR(PUT_FIELD);
	at += sizeof(*from);
	if (from->parts & WR_RDMA)
		at = put_rdma(batch, at);
	if (from->parts & ~WR_RDMA)
		at = put_rare_parts(batch, from->parts, at);
	return put_sges(batch, at, from->nsge);
}

static uint32_t post_kind(const struct event_post *event)
{
	uint32_t kind = kind_of_verb(event->verb);

	if (!kind_is_post(kind))
		return 0;
	return event->head.flags & EVENT_INNER ? kind | KIND_INNER : kind;
}

static void put_post(struct batch *batch, uint64_t n, int64_t time, uint32_t kind, uint64_t handle,
		     int ret, uint32_t bad, uint32_t nwr, uint32_t stack)
{
	put_event(batch, n, time, kind);
	PUT(batch, post_handle, handle);
	PUT(batch, post_ret, (int64_t)ret);
	PUT(batch, post_bad, bad);
	PUT(batch, nwr, nwr);
	PUT(batch, post_stack, stack);
}

static void open_post(struct batch *batch, const struct event_post *event, uint64_t n, int64_t time,
		      uint32_t kind, uint32_t stack)
{
	batch->open = true;
	batch->open_stack = stack;
	batch->open_n = n;
	batch->open_time = time;
	batch->open_kind = kind;
	batch->open_handle = event->object;
	batch->open_nwr = event->nwr;
}

bool batch_close(struct batch *batch)
{
	if (!batch->open)
		return false;
	batch->open = false;
	put_post(batch, batch->open_n, batch->open_time, batch->open_kind, batch->open_handle, 0, 0,
		 batch->open_nwr, batch->open_stack);
	return true;
}

/* Add another event of a post that has several events. */
static void continue_post(struct batch *batch, const struct event_post *event)
{
	batch->open_nwr += event->nwr;
	if (event->head.flags & EVENT_PART)
		return;
	batch->open = false;
	put_post(batch, batch->open_n, batch->open_time, batch->open_kind, batch->open_handle,
		 event->ret, event->bad, batch->open_nwr, batch->open_stack);
}

int batch_post(struct batch *batch, const struct event_post *event, uint64_t n, int64_t time,
	       uint32_t stack)
{
	const uint8_t *at = (const uint8_t *)(event + 1);
	uint32_t kind;

	if (event->head.words * 8u < sizeof(*event))
		return -EBADMSG;
	kind = post_kind(event);
	if (!kind || check_wrs(batch, event))
		return -EBADMSG;
	if (batch->open && (kind != batch->open_kind || event->object != batch->open_handle))
		batch_close(batch);
	for (unsigned int i = 0; i < event->nwr; i++)
		at = put_wr(batch, at);
	if (batch->open)
		continue_post(batch, event);
	else if (event->head.flags & EVENT_PART)
		open_post(batch, event, n, time, kind, stack);
	else
		put_post(batch, n, time, kind, event->object, event->ret, event->bad, event->nwr,
			 stack);
	return 0;
}

static void put_wc(struct batch *batch, const struct event_wc *wc)
{
	struct event_wc host = *wc, *from = &host;

	/* with WITH_INV, imm is an rkey in host order: ibv_poll_cq(3) */
	if (!(wc->wc_flags & ABI_WC_WITH_INV))
		host.imm = __builtin_bswap32(wc->imm);
	FIELDS_WC(PUT_FIELD);
}

static void put_extra(struct batch *batch, const struct event_wc_extra *from)
{
	FIELDS_EXTRA(PUT_FIELD);
}

static uint32_t poll_kind(const struct event_poll *event)
{
	uint8_t flags = event->head.flags;
	uint32_t kind = flags & EVENT_START  ? KIND_START_POLL
			: flags & EVENT_NEXT ? KIND_NEXT_POLL
					     : KIND_POLL;

	return kind | (flags & EVENT_INNER ? KIND_INNER : 0) |
	       (flags & EVENT_EXTRA ? KIND_EXTRA : 0) | (flags & EVENT_FILLED ? KIND_FILLED : 0);
}

int batch_poll(struct batch *batch, const struct event_poll *event, uint64_t n, int64_t time,
	       uint64_t empty, uint32_t stack)
{
	const struct event_wc *wc = (const void *)(event + 1);

	if (!event_poll_fits(event, event->head.words * 8u))
		return -EBADMSG;
	put_event(batch, n, time, poll_kind(event));
	PUT(batch, poll_handle, event->cq);
	PUT(batch, poll_ret, (int64_t)event->ret);
	PUT(batch, empty, empty);
	PUT(batch, nwc, event->nwc);
	PUT(batch, poll_stack, stack);
	for (unsigned int i = 0; i < event->nwc; i++)
		put_wc(batch, &wc[i]);
	if (event->head.flags & EVENT_EXTRA)
		for (unsigned int i = 0; i < event->nwc; i++)
			put_extra(batch, event_poll_extras(event) + i);
	return 0;
}

int batch_notify(struct batch *batch, const struct event_notify *event, uint64_t n, int64_t time)
{
	uint32_t inner = event->head.flags & EVENT_INNER ? KIND_INNER : 0;

	if (event->head.words * 8u < sizeof(*event))
		return -EBADMSG;
	put_event(batch, n, time, KIND_NOTIFY | inner);
	PUT(batch, notify_handle, event->cq);
	PUT(batch, solicited, (int64_t)event->solicited_only);
	PUT(batch, notify_ret, (int64_t)event->ret);
	return 0;
}

void batch_clear(struct batch *batch)
{
	for (int i = 0; i < COLUMN_COUNT; i++)
		column_clear(&batch->columns[i]);
}

void batch_fini(struct batch *batch)
{
	for (int i = 0; i < COLUMN_COUNT; i++)
		column_fini(&batch->columns[i]);
}

static int reserve_bytes(struct packer *packer, size_t bytes)
{
	uint8_t *more;

	if (packer->used + bytes <= packer->size)
		return 0;
	more = realloc(packer->bytes, (packer->used + bytes) * 2);
	if (!more)
		return -ENOMEM;
	packer->bytes = more;
	packer->size = (packer->used + bytes) * 2;
	return 0;
}

/*
 * Append the column's bytes, compressed if that makes them smaller. Returns their number; 0: out of
 * memory.
 */
static size_t pack_bytes(struct packer *packer, const struct column *column,
			 enum column_code *ret_code)
{
	size_t bound = ZSTD_compressBound(column->used), n;

	if (reserve_bytes(packer, bound))
		return 0;
	n = ZSTD_compressCCtx(packer->cctx, packer->bytes + packer->used, bound, column->bytes,
			      column->used, LEVEL);
	*ret_code = COLUMN_ZSTD;
	if (ZSTD_isError(n) || n >= column->used) {
		memcpy(packer->bytes + packer->used, column->bytes, column->used);
		n = column->used;
		*ret_code = COLUMN_RAW;
	}
	packer->used += n;
	return n;
}

static void put_varint(struct packer *packer, uint64_t value)
{
	packer->head_used += varint_put(packer->head + packer->head_used, value);
}

/* Add a column to the directory; its bytes have been added already. */
static void put_entry(struct packer *packer, enum column_id id, const struct column_view *view)
{
	packer->head[1]++;
	put_varint(packer, id);
	put_varint(packer, view->code);
	put_varint(packer, view->count);
	if (view->code == COLUMN_LINEAR) {
		put_varint(packer, zigzag_encode(view->base));
		put_varint(packer, zigzag_encode(view->step));
		return;
	}
	put_varint(packer, view->packed);
	if (view->code == COLUMN_ZSTD)
		put_varint(packer, view->unpacked);
}

/*
 * Begin a chunk. The directory's length is not known before the end: reserve space for the longest
 * one.
 */
int packer_begin(struct packer *packer)
{
	if (!packer->cctx)
		packer->cctx = ZSTD_createCCtx();
	packer->used = 0;
	if (!packer->cctx || reserve_bytes(packer, PACKER_HEAD))
		return -ENOMEM;
	packer->used = PACKER_HEAD;
	packer->head[0] = CHUNK_VERSION;
	packer->head[1] = 0;
	packer->head_used = 2;
	return 0;
}

int packer_add(struct packer *packer, enum column_id id, const struct column *column)
{
	struct column_view view = { .code = COLUMN_LINEAR,
				    .count = column->count,
				    .base = column->base,
				    .step = column->step,
				    .unpacked = column->used };

	if (column->failed)
		return -ENOMEM;
	if (column->bent) {
		view.packed = (uint32_t)pack_bytes(packer, column, &view.code);
		if (!view.packed)
			return -ENOMEM;
	}
	put_entry(packer, id, &view);
	return 0;
}

int packer_add_view(struct packer *packer, enum column_id id, const struct column_view *view)
{
	if (view->code != COLUMN_LINEAR) {
		if (reserve_bytes(packer, view->packed))
			return -ENOMEM;
		memcpy(packer->bytes + packer->used, view->bytes, view->packed);
		packer->used += view->packed;
	}
	put_entry(packer, id, view);
	return 0;
}

void packer_end(struct packer *packer)
{
	memmove(packer->bytes + packer->head_used, packer->bytes + PACKER_HEAD,
		packer->used - PACKER_HEAD);
	memcpy(packer->bytes, packer->head, packer->head_used);
	packer->used -= PACKER_HEAD - packer->head_used;
}

int packer_pack(struct packer *packer, const struct batch *batch)
{
	int err = packer_begin(packer);

	for (unsigned int i = 0; i < COLUMN_COUNT && !err; i++)
		if (batch->columns[i].count)
			err = packer_add(packer, (enum column_id)i, &batch->columns[i]);
	if (!err)
		packer_end(packer);
	return err;
}

void packer_fini(struct packer *packer)
{
	ZSTD_freeCCtx(packer->cctx);
	free(packer->bytes);
	*packer = (struct packer){ 0 };
}
