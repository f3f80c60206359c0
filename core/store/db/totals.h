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
	uint64_t events;      /* in this trace, without those in the previous one: --rotate-size */
	uint64_t lost;        /* not recorded, or recorded but not written */
	uint64_t overwritten; /* recorded, but deleted by --flight */
	uint32_t processes, threads;
};

/*
 * The totals of trace @db; of a trace that is still being written, the totals of its rows so far.
 * Reads only small tables. Numbers that a damaged trace does not have are 0.
 */
struct totals totals_read(struct sqlite3 *db);
