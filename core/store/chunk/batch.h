#pragma once
/*
 * Data-plane events of one thread, collected for one chunk.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/store/chunk/chunk.h"
#include "core/store/chunk/column.h"
#include "core/store/chunk/columns.h"
#include "core/wire/event.h"

/* Empty when zeroed. */
struct batch {
	struct column columns[COLUMN_COUNT];
	uint64_t first_n, last_n;
	int64_t begin, end; /* ns */
	/* the last event of a post that has several events has not come yet */
	bool open;
	uint64_t open_n;
	int64_t open_time;
	uint32_t open_nwr, open_kind;
	uint32_t open_stack;
	uint64_t open_handle;
};

/*
 * Add event @n. The event is not trusted: -EBADMSG, with nothing added, if its
 * lengths or its verb are impossible.
 */
int batch_post(struct batch *batch, const struct event_post *event, uint64_t n, int64_t time,
	       uint32_t stack);
int batch_poll(struct batch *batch, const struct event_poll *event, uint64_t n, int64_t time,
	       uint64_t empty, uint32_t stack);
int batch_notify(struct batch *batch, const struct event_notify *event, uint64_t n, int64_t time);

/*
 * Close a post whose last event never came; it has the requests that came. True: there was such a
 * post.
 */
bool batch_close(struct batch *batch);

static inline uint32_t batch_events(const struct batch *batch)
{
	return batch->columns[COLUMN_kind].count;
}

static inline bool batch_full(const struct batch *batch)
{
	return !batch->open && (batch_events(batch) >= BATCH_EVENTS ||
				batch->columns[COLUMN_wr_id].count >= BATCH_ROWS ||
				batch->columns[COLUMN_addr].count >= BATCH_ROWS ||
				batch->columns[COLUMN_wc_wr_id].count >= BATCH_ROWS);
}

/* Empty the batch; its memory stays allocated. */
void batch_clear(struct batch *batch);

void batch_fini(struct batch *batch);

enum { PACKER_HEAD = 2 + COLUMN_COUNT * 40 };

/* Packs batches; its memory stays allocated between them. */
struct packer {
	void *cctx;
	uint8_t *bytes;
	size_t used, size;
	uint8_t head[PACKER_HEAD];
	size_t head_used;
};

/* Write @batch as a chunk into packer->bytes, packer->used of them. Returns 0 or -ENOMEM. */
int packer_pack(struct packer *packer, const struct batch *batch);

/*
 * The same column by column, in the order of their numbers, without empty columns; a column comes
 * from memory or from another chunk. 0 or -ENOMEM.
 */
int packer_begin(struct packer *packer);
int packer_add(struct packer *packer, enum column_id id, const struct column *column);
int packer_add_view(struct packer *packer, enum column_id id, const struct column_view *view);
void packer_end(struct packer *packer);

void packer_fini(struct packer *packer);
