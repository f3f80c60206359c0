#pragma once
/*
 * RDMA WRITEs in a row whose local address advances while the remote one does not.
 *
 *	WRITE	b0 to r		each from the next buffer, and all to one place of the peer,
 *	WRITE	b1 to r		or to places that are nearer to each other than they are long:
 *	WRITE	b2 to r		each overwrites the one before
 *
 * READs of one place are common: its contents change, or do not matter. Only WRITEs of one length
 * that are outstanding together, with equal distances, count. They are stored with the send queue,
 * and judged when it ends.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "analyzer/model/moment.h"

struct model;
struct queue;

struct stride_request {
	struct moment moment;
	uint32_t index; /* in its post */
	uint32_t rkey, length;
	uint64_t local, remote;
};

struct stride {
	struct stride_request last;
	struct stride_request begin; /* the first of the current row */
	int64_t local, remote;       /* distances between the requests of the row */
	uint64_t row;                /* requests after the first one */
	/* the longest row: its first request, and the distances */
	uint64_t longest;
	struct stride_request first;
	int64_t longest_local, longest_remote;
};

/* The last request of the send queue @queue has been pushed. */
void stride_check_request(struct model *model, struct queue *queue);
