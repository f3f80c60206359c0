#pragma once
/*
 * What reads and atomics have fetched, compared as far as a recording can tell.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"

struct fetched;
struct outcome;
struct replica_qp;

/* Does a request of that opcode fetch something? */
bool fetched_is_kind(int opcode);

/* Returns 0 or -ENOMEM. */
int fetched_new(struct fetched **ret_fetched);

/* Accepts NULL. */
void fetched_free(struct fetched *fetched);

/* @wr is posted to @qp: *@ret_place is the place that it fetches from. 0 or -ENOMEM. */
int fetched_post(struct fetched *fetched, const struct wr *wr, const struct replica_qp *qp,
		 uint32_t *ret_place);

/* What a completion has fetched. */
struct fetch {
	struct event_id event, about; /* the poll, and the post */
	uint32_t index, object;       /* in the poll; the queue pair */
	bool same;                    /* all bytes are */
	uint64_t at, total;           /* else: the first that is not, of so many */
	uint8_t there_byte, here_byte;
	uint64_t there, here; /* of an atomic: the value */
};
void fetched_check(struct fetched *fetched, struct outcome *outcome, uint32_t place,
		   const struct fetch *fetch);

/* Note what was read otherwise than here. */
void fetched_end(const struct fetched *fetched, struct outcome *outcome);
