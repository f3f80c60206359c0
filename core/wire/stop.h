#pragma once
/*
 * Stopping a recorded program for a debugger (`verbatim record --stop-on`).
 *
 * The recorder writes the conditions before the program starts. The thread whose verb has failed
 * claims the structure, describes the failure, and stops its process before the verb returns; the
 * recorder informs the user.
 *
 * Memory that processes share: the data of the program is not trusted. Any thread.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/desc.h"

enum { STOP_VERBS = 256 /* more than there are verbs */, STOP_STATUSES = 64, STOP_FRAMES = 8 };

/* Zeroed: nothing stops. */
struct stop_rule {
	uint32_t on; /* something is set */
	/* failing verbs, except for expected failures; completions in error, except flushes */
	uint32_t errors;
	uint32_t every; /* stop every time, not only the first */
	uint32_t core;  /* the recorder writes a core dump, and the process continues */
	uint64_t verbs[STOP_VERBS / 64]; /* failures of these verbs, expected or not */
	uint64_t statuses;               /* completions with these: bits by enum ibv_wc_status */
};

enum stop_state {
	STOP_FREE,
	STOP_CLAIMED,
	STOP_TAKEN, /* described; the process is about to stop */
	STOP_OVER,  /* the stop was reported, and no further failure stops the program */
};

struct stop_spot {
	_Atomic uint32_t state; /* enum stop_state */
	int32_t pid, tid;
	uint32_t n; /* of the event T:N, low 32 bits; 0: it is not in the trace */
	uint32_t verb;
	int32_t error;   /* errno of a verb that failed */
	uint32_t status; /* of the completion; 0: none */
	uint32_t qp_num;
	uint64_t wr_id;
	uint32_t nframes;
	uint64_t frames[STOP_FRAMES]; /* the innermost, without the recorder's own */
};

static inline bool stop_has_verb(const struct stop_rule *rule, uint32_t verb)
{
	return verb < STOP_VERBS && rule->verbs[verb / 64] >> (verb % 64) & 1;
}

static inline bool stop_has_status(const struct stop_rule *rule, uint32_t status)
{
	return status < STOP_STATUSES && rule->statuses >> status & 1;
}
