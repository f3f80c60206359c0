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

struct sqlite3;
struct sqlite3_stmt;

enum {
	PAYLOAD_ROWS = 8192,     /* a chunk is closed with so many rows */
	PAYLOAD_BYTES = 1 << 20, /* or so many bytes */
	/* no chunk has more: what a full one has, and what one event brought last */
	PAYLOAD_ROWS_MAX = PAYLOAD_ROWS + EVENT_POST_WRS,
	PAYLOAD_BYTES_MAX = PAYLOAD_BYTES + PAYLOAD_CALL_MAX,
};

struct payload_row {
	uint64_t n;         /* event of its post or poll */
	uint32_t i;         /* which request, which completion */
	int64_t time;       /* ns: when it was read */
	uint8_t kind, why, before; /* as in struct event_payload */
	bool hashed;
	uint64_t hash;
	uint64_t total;     /* bytes that were sent or received */
	uint64_t bytes;     /* of them here */
	size_t at;          /* where, in the chunk's */
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

/*
 * Reads chunks of a database. Of each thread the one that was read last is
 * kept, since who reads goes from thread to thread; of threads that share a
 * place, the last one's; and of all no more than PAYLOAD_KEPT bytes and the
 * last. Zeroed it is empty.
 */
enum { PAYLOAD_PLACES = 64, PAYLOAD_KEPT = 192 << 20 };
struct payload_reader {
	struct sqlite3_stmt *chunk;
	size_t kept;
	struct {
		int64_t id;    /* of the chunk; 0: none */
		struct payload_rows rows;
	} places[PAYLOAD_PLACES];
};

/* Returns 0 or -errno after log_err(). */
int payload_reader_init(struct payload_reader *reader, struct sqlite3 *db);
void payload_reader_fini(struct payload_reader *reader);

/*
 * The rows of chunk @id, which is of @thread, by event and index; borrowed
 * until the next call for the same place. 0 or -errno after log_err().
 */
int payload_reader_read(struct payload_reader *reader, uint32_t thread, int64_t id,
			const struct payload_rows **ret_rows);

/* How many of such rows are of events before @n, or of it and before index @i. */
size_t payload_rows_before(const struct payload_rows *rows, uint64_t n, uint32_t i);

struct waiting;

/* The payloads of one thread on their way into the trace. Zeroed it is empty. */
struct payloads {
	struct payload_rows ready;
	struct waiting *waiting; /* in pieces, or for their post; the newest first */
	size_t waiting_bytes;
	uint64_t captured;       /* bytes, ever */
	uint64_t missed[PAYLOAD_WHYS]; /* payloads that are not there as they were asked for */
	uint64_t seed;           /* of hashes */
};

/* One EVENT_PAYLOAD of number @n: -EBADMSG where it is impossible, -ENOMEM. */
int payloads_piece(struct payloads *payloads, const struct event_payload *event, uint64_t n,
		   int64_t time);

/* A post at event @n: what came before it is its own, or nobody's. */
int payloads_post(struct payloads *payloads, const struct event_post *event, uint64_t n);

/* Nothing more comes. */
int payloads_end(struct payloads *payloads);

void payloads_fini(struct payloads *payloads);
