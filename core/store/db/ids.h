#pragma once
/*
 * What all tables name: events and objects.
 */
#include <stdint.h>

#include "core/wire/desc.h"

/* T:N, the name of an event: thread of the trace from 1, event of that thread from 1. */
struct event_id {
	uint32_t thread; /* 0: none */
	uint64_t n;
};

/* For "%u:%llu"-like output: writes "3:1042" or "-" into @text, and returns it. */
const char *event_id_text(struct event_id id, char text[32]);

/* An object of the trace: table `object`. Never changes while the trace is open. */
struct object {
	uint32_t id; /* 1.. in the trace */
	uint32_t process;
	enum object_kind kind;
	uint32_t ordinal;          /* 1: the first of its kind in its process */
	uint64_t handle;           /* its address there */
	uint32_t number;           /* qp_num; lkey of an MR; rkey of an MW; wq_num; else 0 */
	uint32_t rkey;             /* of an MR */
	uint32_t parent;           /* id of the PD, context or device it was made from; 0 none */
	struct event_id created;   /* call that made it; 0:0 for one that was there before */
	struct event_id destroyed; /* call that destroyed it with success; 0:0 if none did */
	int64_t created_at;        /* ns: return of that call */
	int64_t destroyed_at;      /* ns: begin of that call; INT64_MAX if none */
	const char *name;          /* "qp2" within the process; a device's own name */
};
