#pragma once
/*
 * Payloads: rows in memory, and packed as a chunk of table `payload_chunk`.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/event.h"
#include "core/wire/payload.h"

enum {
	PAYLOAD_ROWS = 8192,     /* a chunk is closed when it has this many rows */
	PAYLOAD_BYTES = 1 << 20, /* or this many bytes */
	/*
	 * limits of a chunk: the rows may be almost full when the payloads of one event are added
	 */
	PAYLOAD_ROWS_MAX = PAYLOAD_ROWS + EVENT_POST_WRS,
	PAYLOAD_BYTES_MAX = PAYLOAD_BYTES + PAYLOAD_CALL_MAX,
};

struct payload_row {
	uint64_t n;                /* number of its post or poll */
	uint32_t i;                /* index of its request or completion */
	int64_t time;              /* ns: when it was read */
	uint8_t kind, why, before; /* the same as in struct event_payload */
	bool hashed;
	uint64_t hash;
	uint64_t total; /* bytes that were sent or received */
	uint64_t bytes; /* number of captured bytes */
	size_t at;      /* offset of these bytes in payload_rows.bytes */
};

/* The rows of one chunk, in memory. All zero: empty. */
struct payload_rows {
	struct payload_row *rows;
	size_t nrows, rows_size;
	uint8_t *bytes;
	size_t used, size;
};

/* Copies the bytes. 0 or -ENOMEM. */
int payload_rows_add(struct payload_rows *rows, const struct payload_row *row, const void *bytes);
void payload_rows_clear(struct payload_rows *rows);
void payload_rows_fini(struct payload_rows *rows);

/* Pack the rows into a chunk; the caller frees *@ret_data. 0 or -ENOMEM. */
int payload_pack(const struct payload_rows *rows, uint8_t **ret_data, size_t *ret_size);

/*
 * Unpack a chunk into @rows, which is cleared first. @data is not trusted: -EBADMSG if it is
 * damaged. Or -ENOMEM.
 */
int payload_unpack(const void *data, size_t size, struct payload_rows *rows);
