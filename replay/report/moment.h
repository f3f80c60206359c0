#pragma once
/*
 * What is alive at the end of what was replayed: objects, requests under way, completions that
 * nobody has asked for.
 *
 * One thread. A debugger finds the last one by `replay_moment`.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/store/read/trace.h"

enum { MOMENT_SEND, MOMENT_RECV, MOMENT_SIDES };

struct moment_object {
	char name[64]; /* "qp1/2": of process 2 */
	enum object_kind kind;
	void *handle; /* struct ibv_qp *, ... here */
	int state;    /* QP: enum ibv_qp_state, as the device says; -1 not known */
	uint32_t under_way[MOMENT_SIDES]; /* requests */
	uint32_t completed[MOMENT_SIDES]; /* completions of them; CQ: all in the first */
};

/* A request of a queue, or its completion, which was taken off its CQ to be looked at. */
struct moment_request {
	size_t object, cq; /* indices; cq counts where it is completed */
	struct event_id post;
	uint32_t index;
	bool receive, completed;
	struct ibv_wc wc;
};

struct moment {
	struct moment_object *objects;
	struct moment_request *requests; /* of each queue, the oldest first */
	size_t nobjects, nrequests;
};

extern const struct moment *replay_moment;

void moment_free(struct moment *moment);

/* Lines for a reader; the member "alive" of an object with a comma behind it. */
void moment_text(const struct moment *moment, FILE *to);
void moment_json(const struct moment *moment, FILE *to);
