#pragma once
/*
 * Reading chunks of payloads from the database.
 *
 * Not thread-safe.
 */
#include "core/store/chunk/payload.h"
#include "core/store/db/sqlite.h"

/*
 * Reads chunks of a database. It caches the last chunk of each thread, since its callers switch
 * between threads; of threads that share a cache entry only the last one's chunk is cached. If the
 * cache exceeds PAYLOAD_KEPT bytes, it drops chunks other than the last one read. All zero: empty.
 */
enum { PAYLOAD_PLACES = 64, PAYLOAD_KEPT = 192 << 20 };
struct payload_reader {
	sqlite3_stmt *chunk;
	size_t kept;
	struct {
		int64_t id; /* id of the chunk; 0: none */
		struct payload_rows rows;
	} places[PAYLOAD_PLACES];
};

/* Returns 0 or -errno after log_err(). */
int payload_reader_init(struct payload_reader *reader, sqlite3 *db);
void payload_reader_fini(struct payload_reader *reader);

/*
 * The rows of chunk @id, a chunk of @thread, sorted by event and index; borrowed
 * until the next call. 0 or -errno after log_err().
 */
int payload_reader_read(struct payload_reader *reader, uint32_t thread, int64_t id,
			const struct payload_rows **ret_rows);

/* The number of rows before (@n, @i) in @rows. */
size_t payload_rows_before(const struct payload_rows *rows, uint64_t n, uint32_t i);
