#pragma once
/*
 * What the C program is made of, while it is made.
 *
 * One thread.
 */
#include "cli/emit/statement.h"
#include "core/store/read/trace.h"

/* Functions of the C program that are printed only where they are used (helpers.c). */
enum helper {
	HELPER_MADE = 1,
	HELPER_REFUSED = 2,
	HELPER_SAME = 4,
	HELPER_EXPECT = 8,
	HELPER_EXPECT_EX = 16,
	HELPER_AWAIT = 32,
	HELPER_PATH = 64,
	HELPER_MTU = 128,
	HELPER_CQ_EVENT = 256,
	HELPER_ASYNC_EVENT = 512,
	HELPER_NO_KEY = 1024,
	HELPER_OPEN = 2048,
	HELPER_AT = 4096,
	HELPER_MEMORY = 8192,
	HELPER_INLINE = 16384,
	HELPER_BAD_SEND = 32768,
	HELPER_BAD_RECV = 65536,
	HELPER_BUILDER = 131072,
	HELPER_NEXT = 262144,
	HELPER_ANY = 524288,
	HELPER_ANY_EX = 1048576,
};

enum { EMIT_THREADS = 256 };

/* What the program keeps of an object besides its handle. */
struct kept {
	bool used; /* a statement names it */
	bool ex;   /* a CQ that is a struct ibv_cq_ex */
	/* its numbers are used elsewhere, or when it is gone: variables keep them */
	bool number, lkey, rkey;
};

/* What was left out, and why. */
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
	bool shared; /* several processes have objects: names say whose */
	struct texts texts;
	struct script scripts[EMIT_THREADS + 1]; /* by thread */
	struct kept *objects;                    /* by id */
	uint32_t nobjects, nthreads, nprocesses;
	unsigned int helpers;
	int64_t longest;       /* ns from a post to its completion */
	uint32_t inline_bytes; /* the longest inline data that is in no region */
	struct omission *omissions;
	size_t nomissions;
	struct phrase phrase; /* the statement that is being made */
	struct event_id at;   /* the event that is being made */
	uint32_t process;
	int64_t time;
};

/* Take the objects of @trace. 0 or -errno after log_err(). */
int program_init(struct program *program, struct trace *trace, const char *path);
void program_fini(struct program *program);

/* Remember that @what was left out. 0 or -ENOMEM. */
int program_leave_out(struct program *program, const char *what, const char *why);

/* Say that the trace cannot become a program: -ENOTSUP, after log_err() with the event's name. */
int program_refuse(const struct program *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The statement in program->phrase is that of the current event; or a wait before it. */
int program_add(struct program *program, bool event);
