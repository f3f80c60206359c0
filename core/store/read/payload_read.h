#pragma once
/*
 * Chunks of payloads, read from the database.
 *
 * One thread.
 */
#include "core/store/chunk/payload.h"
#include "core/store/db/sqlite.h"

/*
 * Reads chunks of a database. Of each thread the one that was read last is
 * kept, since who reads goes from thread to thread; of threads that share a
 * place, the last one's; and of all no more than PAYLOAD_KEPT bytes and the
 * last. Zeroed it is empty.
 */
enum { PAYLOAD_PLACES = 64, PAYLOAD_KEPT = 192 << 20 };
struct payload_reader {
	sqlite3_stmt *chunk;
	size_t kept;
	struct {
		int64_t id; /* of the chunk; 0: none */
		struct payload_rows rows;
	} places[PAYLOAD_PLACES];
};

/* Returns 0 or -errno after log_err(). */
int payload_reader_init(struct payload_reader *reader, sqlite3 *db);
void payload_reader_fini(struct payload_reader *reader);

/*
 * The rows of chunk @id, which is of @thread, by event and index; borrowed
 * until the next call for the same place. 0 or -errno after log_err().
 */
int payload_reader_read(struct payload_reader *reader, uint32_t thread, int64_t id,
			const struct payload_rows **ret_rows);

/* How many of such rows are of events before @n, or of it and before index @i. */
size_t payload_rows_before(const struct payload_rows *rows, uint64_t n, uint32_t i);
