#pragma once
/*
 * The objects that are alive at the end of a replay, with their outstanding requests and the
 * completions that the program did not poll.
 *
 * Not thread-safe. For a debugger, `replay_moment` points to the latest struct.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/store/read/trace.h"

enum { MOMENT_SEND, MOMENT_RECV, MOMENT_SIDES };

struct alive_object {
	char name[64]; /* "qp1/2": qp1 of process 2 */
	enum object_kind kind;
	void *handle; /* the replay's struct ibv_qp *, ... */
	int state;    /* QP: enum ibv_qp_state, as the device reports it; -1 not known */
	uint32_t under_way[MOMENT_SIDES]; /* requests */
	uint32_t completed[MOMENT_SIDES]; /* completions of these; CQ: all are in [0] */
};

/* A request of a queue, or its completion, which was polled to be shown. */
struct alive_request {
	size_t object, cq; /* indices; cq is that of its completion queue */
	struct event_id post;
	uint32_t index;
	bool receive, completed;
	struct ibv_wc wc;
};

struct alive_objects {
	struct alive_object *objects;
	struct alive_request *requests; /* of each queue, the oldest first */
	size_t nobjects, nrequests;
};

extern const struct alive_objects *replay_moment;

void alive_objects_free(struct alive_objects *moment);

/* Lines for a reader; the JSON member "alive", with a comma after it. */
void alive_objects_text(const struct alive_objects *moment, FILE *to);
void alive_objects_json(const struct alive_objects *moment, FILE *to);
