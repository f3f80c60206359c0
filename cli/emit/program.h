#pragma once
/*
 * The state of the C program while it is generated.
 *
 * Not thread-safe.
 */
#include "cli/emit/loops.h"
#include "cli/emit/skips.h"
#include "cli/emit/statement.h"
#include "core/store/read/trace.h"

/* Functions of the C program that are printed only if they are used (helpers.c). */
enum helper {
	HELPER_MADE = 1 << 0,
	HELPER_REFUSED = 1 << 1,
	HELPER_SAME = 1 << 2,
	HELPER_EXPECT = 1 << 3,
	HELPER_PLAIN = 1 << 4,
	HELPER_EX = 1 << 5,
	HELPER_AWAIT = 1 << 6,
	HELPER_PATH = 1 << 7,
	HELPER_MTU = 1 << 8,
	HELPER_CQ_EVENT = 1 << 9,
	HELPER_ASYNC_EVENT = 1 << 10,
	HELPER_NO_KEY = 1 << 11,
	HELPER_AT = 1 << 12,
	HELPER_NEXT = 1 << 13,
	HELPER_COMING = 1 << 14,
	HELPER_MEMORY = 1 << 15,
	HELPER_INLINE = 1 << 16,
	HELPER_ASIDE = 1 << 17,
	HELPER_EVENTS = 1 << 18,
	HELPER_ARM = 1 << 19,
	HELPER_ACK = 1 << 20,
	HELPER_LINKED_RECV = 1 << 21,
	HELPER_LINKED_SEND = 1 << 22,
	HELPER_HOW = 1 << 23,  /* completions that may differ from the recorded ones */
	HELPER_MORE = 1 << 24, /* immediate data, invalidated keys, datagrams */
	HELPER_BAD_SEND = 1 << 25,
	HELPER_BAD_RECV = 1 << 26,
	HELPER_SKIPS = 1 << 27,
	HELPER_READS = 1 << 28,
};

enum { EMIT_THREADS = 256 };

/* What the generated program stores about an object, in addition to its handle. */
struct stored_object {
	bool used;      /* a statement uses it */
	bool made;      /* a statement creates it */
	bool ex;        /* a CQ that is a struct ibv_cq_ex */
	bool by_ex;     /* a CQ that is polled as a struct ibv_cq_ex */
	bool events;    /* a CQ with a channel: its events are counted */
	uint32_t array; /* it is an array element: the first object of the array */
	bool starved;   /* an SRQ of several queue pairs whose messages waited for its receives */
	/* its numbers are used elsewhere, or after its destruction: variables hold them */
	bool number, lkey, rkey;
};

/* An omission and its reason. */
struct omission {
	const char *what; /* a verb's name */
	const char *why;
	struct event_id first;
	uint64_t times;
};

struct program {
	struct trace *trace;
	const char *path; /* of the trace */
	bool allow_partial;
	bool shared; /* several processes have objects: names include the process */
	struct texts texts;
	struct script scripts[EMIT_THREADS + 1]; /* by thread */
	struct block blocks[EMIT_THREADS + 1];   /* by thread: the loops made of the statements */
	struct skips skips[EMIT_THREADS + 1];    /* by thread */
	struct stored_object *objects;           /* by id */
	uint32_t nobjects, nthreads, nprocesses;
	unsigned int helpers;
	bool again;            /* generate the program again, with the facts found in this pass */
	uint64_t flushed;      /* statements that are in blocks[] */
	int64_t longest;       /* ns from a post to its completion */
	uint32_t inline_bytes; /* the longest inline data outside of all regions */
	struct omission *omissions;
	size_t nomissions;
	struct phrase phrase; /* the statement under construction */
	struct event_id at;   /* the current event */
	uint32_t process;
	int64_t time;
};

/* Read the objects of @trace. 0 or -errno after log_err(). */
int program_init(struct program *program, struct trace *trace, const char *path);
void program_fini(struct program *program);

/* Forget everything except for facts learned from the trace (links.h and others). */
void program_restart(struct program *program);

/* Note that @what was left out. 0 or -ENOMEM. */
int program_leave_out(struct program *program, const char *what, const char *why);

/*
 * Report that no program can be generated: -ENOTSUP, after log_err() with the current event.
 */
int program_refuse(const struct program *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Like program_refuse(), if the current event is not the reason. */
int program_refuse_all(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* May another statement be added? 0, or as program_refuse_all(). */
int program_check_size(struct program *program);

/*
 * Add the statement in program->phrase: @event: of the current event, else a wait before it. If
 * phrases are ignored, it is only counted.
 */
int program_add(struct program *program, bool event);
