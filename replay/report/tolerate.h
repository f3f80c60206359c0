#pragma once
/*
 * Divergences that a user accepts: a file whose lines each tolerate some.
 *
 * 	# verb  field  events  object  reason
 * 	ibv_poll_cq  wc[*].status  2:60-2:99  qp1/2  the switch was rebooted there
 *
 * `*` and `?` stand for any characters in verb, field and object; events are *, T:*, T:N or a range
 * of one thread, T:N-T:M; an object is its name, with /PROCESS if several processes have it.
 *
 * One thread at a time.
 */
#include <stddef.h>
#include <stdint.h>

#include "core/store/db/ids.h"

struct tolerate;

enum { TOLERATE_COMPLAINT = 256 };

/*
 * Returns 0 and the rules; or -errno and @complaint, which has the line number of a bad line
 * (-EINVAL).
 */
int tolerate_open(const char *path, char complaint[TOLERATE_COMPLAINT],
		  struct tolerate **ret_tolerate);

/* Accepts NULL. */
void tolerate_close(struct tolerate *tolerate);

/* The divergence that lines are compared with. */
struct tolerate_query {
	const char *verb, *field;
	struct event_id event;
	const char *object; /* "qp1"; "" unknown */
	uint32_t process;   /* of the object */
};

/* The first line that matches, counted from 0, which is marked as used; -1: none. */
int tolerate_find(struct tolerate *tolerate, const struct tolerate_query *query);

/* Line @i: its number in the file, its reason and the number of uses. NULL after the last. */
struct tolerate_line {
	unsigned int number;
	const char *reason;
	uint64_t used;
	uint64_t consequences; /* counted by the caller */
};
struct tolerate_line *tolerate_line(struct tolerate *tolerate, size_t i);
const char *tolerate_path(const struct tolerate *tolerate);
