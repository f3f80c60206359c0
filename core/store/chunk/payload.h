#pragma once
/*
 * Payloads: rows in memory, and packed as a chunk of table `payload_chunk`.
 *
 * One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/event.h"
#include "core/wire/payload.h"

enum {
	PAYLOAD_ROWS = 8192,     /* a chunk is closed with so many rows */
	PAYLOAD_BYTES = 1 << 20, /* or so many bytes */
	/* no chunk has more: what a full one has, and what one event brought last */
	PAYLOAD_ROWS_MAX = PAYLOAD_ROWS + EVENT_POST_WRS,
	PAYLOAD_BYTES_MAX = PAYLOAD_BYTES + PAYLOAD_CALL_MAX,
};

struct payload_row {
	uint64_t n;                /* event of its post or poll */
	uint32_t i;                /* which request, which completion */
	int64_t time;              /* ns: when it was read */
	uint8_t kind, why, before; /* as in struct event_payload */
	bool hashed;
	uint64_t hash;
	uint64_t total; /* bytes that were sent or received */
	uint64_t bytes; /* of them here */
	size_t at;      /* where, in the chunk's */
};

/* Rows that will be, or were, a chunk. Zeroed it is empty. */
struct payload_rows {
	struct payload_row *rows;
	size_t nrows, rows_size;
	uint8_t *bytes;
	size_t used, size;
};

/* The bytes are copied. 0 or -ENOMEM. */
int payload_rows_add(struct payload_rows *rows, const struct payload_row *row, const void *bytes);
void payload_rows_clear(struct payload_rows *rows);
void payload_rows_fini(struct payload_rows *rows);

/* As a chunk: *@ret_data is to be freed. 0 or -ENOMEM. */
int payload_pack(const struct payload_rows *rows, uint8_t **ret_data, size_t *ret_size);

/* Nothing of @data is trusted: -EBADMSG. @rows is emptied first. */
int payload_unpack(const void *data, size_t size, struct payload_rows *rows);
