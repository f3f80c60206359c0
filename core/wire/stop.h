#pragma once
/*
 * Stopping a recorded program for a debugger (`verbatim record --stop-on`).
 *
 * The recorder writes the conditions before the program starts. The thread whose verb has failed
 * claims the structure, describes the failure, and stops its process before the verb returns; the
 * recorder informs the user.
 *
 * The structures are in memory that processes share: what the program writes is not trusted. Any
 * thread.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/desc.h"

enum { STOP_VERBS = 256 /* more than the number of verbs */, STOP_STATUSES = 64, STOP_FRAMES = 8 };

/* When the program stops. Zeroed: never. */
struct stop_rule {
	uint32_t on; /* at least one condition is set */
	/*
	 * on failing verbs, except for expected failures; on completions in error, except flushes
	 */
	uint32_t errors;
	uint32_t every; /* stop every time, not only the first */
	uint32_t core;  /* the recorder writes a core dump, and the process continues */
	uint64_t verbs[STOP_VERBS / 64]; /* failures of these verbs, expected or not */
	/* completions with these statuses: bits by enum ibv_wc_status */
	uint64_t statuses;
};

enum stop_state {
	STOP_FREE,
	STOP_CLAIMED,
	STOP_TAKEN, /* the failure is described, and the process is about to stop */
	STOP_OVER,  /* the stop was reported, and no further failure stops the program */
};

struct stop_spot {
	_Atomic uint32_t state; /* enum stop_state */
	int32_t pid, tid;
	uint32_t n; /* N of the event T:N, low 32 bits; 0: the event is not in the trace */
	uint32_t verb;
	int32_t error;   /* errno of a verb that failed */
	uint32_t status; /* of the completion; 0: none */
	uint32_t qp_num;
	uint64_t wr_id;
	uint32_t nframes;
	/* return addresses, innermost first, without the recorder's own */
	uint64_t frames[STOP_FRAMES];
};

static inline bool stop_has_verb(const struct stop_rule *rule, uint32_t verb)
{
	return verb < STOP_VERBS && rule->verbs[verb / 64] >> (verb % 64) & 1;
}

static inline bool stop_has_status(const struct stop_rule *rule, uint32_t status)
{
	return status < STOP_STATUSES && rule->statuses >> status & 1;
}
