#pragma once
/*
 * Objects that a call used or returned: table `ref`. Not thread-safe.
 */
#include <stdint.h>

#include "core/store/db/ids.h"

struct trace;
struct call_refs;

struct call_ref {
	uint32_t object;  /* 0: the row is damaged */
	const char *path; /* "qp_init_attr.send_cq", "out.cq", NULL: damaged; borrowed until the */
			  /* next one */
};

/* For one trace, not a joint one. 0 or -errno after log_err(). */
int call_refs_open(struct trace *trace, struct call_refs **ret_refs);

/* Start with the references of @call; they are sorted by object and path. */
void call_refs_begin(struct call_refs *refs, struct event_id call);

/* The next reference: 1, 0 at the end, or -errno after log_err(). */
int call_refs_next(struct call_refs *refs, struct call_ref *ret_ref);

/* Accepts NULL. */
void call_refs_close(struct call_refs *refs);
