#pragma once
/*
 * The size of a recording, in the numbers that all commands print: docs/GLOSSARY.md defines them.
 *
 * Not thread-safe.
 */
#include <stdint.h>

struct sqlite3;

struct totals {
	/* ns: from the begin of the recording to its last event or the end of its last process */
	int64_t duration;
	uint64_t events;      /* in this trace, and not in the one before it: --rotate-size */
	uint64_t lost;        /* not recorded, or recorded but not written */
	uint64_t overwritten; /* recorded, but older than what --flight stores */
	uint32_t processes, threads;
};

/*
 * The totals of trace @db; for a trace that is still being written, those of its rows so far. Reads
 * only small tables. Numbers that a damaged trace does not have are 0.
 */
struct totals totals_read(struct sqlite3 *db);
