#pragma once
/*
 * A question of `verbatim query`, parsed from words.
 *
 * Words such as "what", "is", "the", "of" are ignored and may be left out. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/db/ids.h"
#include "core/store/db/object_name.h"

enum { QUESTION_NAME = OBJECT_NAME, QUESTION_COMPLAINT = 256, QUESTION_TRACE = OBJECT_TRACE };

/* clang-format off */
/* X(name, word, operands after it, help) */
#define EACH_QUESTION(X)                                                                   \
	X(state, "state", " of OBJECT", "type, attributes, and the call that created it")   \
	X(outstanding, "outstanding", " on QUEUE", "outstanding requests")                  \
	X(covers, "covers", " ADDRESS[+LENGTH] | key KEY", "regions and windows of it")     \
	X(registered, "registered", "", "all regions, and the memory that they pin")       \
	X(peer, "peer", " of QP", "the peer of a queue pair")                               \
	X(path, "path", " of T:N[I] | of wr_id ID", "the fate of a request")
/* clang-format on */

/* for messages */
#define QUESTION_WORDS "try state, outstanding, covers, registered, peer or path"

enum question_kind {
#define QUESTION_KIND(name, word, follows, help) QUESTION_##name,
	EACH_QUESTION(QUESTION_KIND)
#undef QUESTION_KIND
};

/* A point of the recording: after an event, or after all events up to a time. */
struct instant {
	struct event_id id;         /* thread 0: none */
	char trace[QUESTION_TRACE]; /* its trace: "b.db"; "" */
	int64_t time;               /* ns since the start; INT64_MAX: the end */
	bool given;
};

struct question {
	enum question_kind kind;
	struct instant at;
	uint32_t process;           /* "in process 2"; 0: any */
	char in[QUESTION_TRACE];    /* "in b.db process 2", "b.db:qp1/2" */
	char object[QUESTION_NAME]; /* "qp3", or an id */
	uint64_t number, length;    /* an address and a number of bytes; a key; a wr_id */
	bool by_key, by_wr_id;
	struct event_id id; /* of a path: the post or the poll */
	char trace[QUESTION_TRACE];
	uint32_t index; /* index of the request or completion in the event */
};

/* Returns 0, or -EINVAL with @complaint set. */
int question_read(const char *text, struct question *ret_question,
		  char complaint[QUESTION_COMPLAINT]);
