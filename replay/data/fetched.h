#pragma once
/*
 * Data fetched by reads and atomics, compared as far as a recording allows.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"

struct fetched_data;
struct outcome;
struct replica_qp;

/* Returns 0 or -ENOMEM. */
int fetched_new(struct fetched_data **ret_fetched);

/* Accepts NULL. */
void fetched_free(struct fetched_data *fetched);

/* Note @wr, posted to @qp. *@ret_place: the index of its remote address; 0: none. 0 or -ENOMEM. */
int fetched_post(struct fetched_data *fetched, const struct wr *wr, const struct replica_qp *qp,
		 uint32_t *ret_place);

/* Data that a completion has fetched. */
struct fetch {
	struct event_id event, about; /* the poll, and the post */
	uint32_t index, object;       /* index in the poll; queue pair */
	bool same;                    /* all bytes are equal */
	uint64_t at, total; /* if not @same: index of the first byte that differs; length */
	uint8_t there_byte, here_byte;
	uint64_t there, here; /* the recorded and the replayed value of an atomic */
};
void fetched_check(struct fetched_data *fetched, struct outcome *outcome, uint32_t place,
		   const struct fetch *fetch);

/* Note all reads that differ from the recording. */
void fetched_report(const struct fetched_data *fetched, struct outcome *outcome);
