#pragma once
/*
 * Divergences that a user has judged: a file of lines, each of which tolerates some.
 *
 *	# verb  field  events  object  reason
 *	ibv_poll_cq  wc[*].status  2:60-2:99  qp1/2  the switch was rebooted there
 *
 * `*` and `?` stand for any characters in verb, field and object; events are *, T:*, T:N or a range
 * of one thread, T:N-T:M; an object is its name, with /PROCESS where several have it.
 *
 * One thread at a time.
 */
#include <stddef.h>
#include <stdint.h>

#include "core/store/db/ids.h"

struct tolerate;

enum { TOLERATE_COMPLAINT = 256 };

/*
 * Returns 0 and the rules; or -errno and @complaint, in which a bad line (-EINVAL) is named by its
 * number.
 */
int tolerate_open(const char *path, char complaint[TOLERATE_COMPLAINT],
		  struct tolerate **ret_tolerate);

/* Accepts NULL. */
void tolerate_close(struct tolerate *tolerate);

/* What a line is asked about. */
struct tolerate_query {
	const char *verb, *field;
	struct event_id event;
	const char *object; /* "qp1"; "" unknown */
	uint32_t process;   /* of the object */
};

/* The first line that has it, counted from 0, which is used from now on; -1: none. */
int tolerate_find(struct tolerate *tolerate, const struct tolerate_query *query);

/* Line @i: its number in the file, reason and how often it was used. NULL past the end. */
struct tolerate_line {
	unsigned int number;
	const char *reason;
	uint64_t used;
	uint64_t consequences; /* for the caller to count */
};
struct tolerate_line *tolerate_line(struct tolerate *tolerate, size_t i);
const char *tolerate_path(const struct tolerate *tolerate);
