#pragma once
/*
 * A recorded trace, read in time order.
 *
 * The same stream whether the data plane lies in chunks (as recorded) or in
 * plain tables (after `verbatim unpack`). A struct trace and what comes from
 * it are used by one thread at a time; but a cursor of a finished trace may be
 * used by another thread than the trace and what else comes from it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/db/args.h"
#include "core/store/db/ids.h"
#include "core/wire/desc.h"
#include "gen/data_gen.h"

struct sqlite3;
struct trace;

/* A control verb: table `call`. */
struct call {
	enum verb verb;
	int64_t begin, end; /* ns since the start; end is -1 where it never returned */
	int64_t ret;
	int error;          /* errno after it */
	unsigned int depth; /* 0: called by the application */
	bool ours;          /* a look at the device by the recorder itself */
	bool failed;
	uint32_t stack;    /* id in table `stack`, 0 none */
	uint32_t object;   /* what it acted on or made, id; 0 unknown or none */
	uint64_t handle;   /* the same as its address */
	struct args *args; /* what went in, by argument name; NULL: nothing is known */
	struct args *out;  /* what came out; "ret" holds a new object's fields */
};

/* Members from core/wire/data.list, with what each is. */
#define MEMBER(family, column, name, member, type, wire) type name;
#define PART_MEMBERS(NAME, part)                         FIELDS_##NAME(MEMBER)

struct sge {
	FIELDS_SGE(MEMBER)
};

/* A work request: one row of virtual table `wr`. What it has no part for is 0. */
struct wr {
	uint64_t wr_id;
	int opcode; /* enum ibv_wr_opcode; -1 for a receive */
	uint32_t send_flags;
	int num_sge; /* as the application gave it; nsge are recorded */
	uint32_t nsge;
	uint32_t imm; /* host order, or the key to invalidate */
	EACH_SHOWN_PART(PART_MEMBERS)

	const struct sge *sge;
};

/* One call of ibv_post_*(), or a batch that ibv_wr_complete() or ibv_wr_abort() ended. */
struct post {
	enum verb verb;
	uint64_t handle;
	uint32_t object; /* QP, SRQ or WQ; 0 unknown */
	int ret;
	uint32_t bad; /* 0, or 1 + index of *bad_wr */
	uint32_t nwr;
	uint32_t stack; /* id in table `stack`, 0 not known */
	const struct wr *wr;
};

/* Does the verb put requests into a send queue? */
static inline bool verb_is_send(enum verb verb)
{
	return verb == VERB_post_send || verb == VERB_wr_complete || verb == VERB_wr_abort;
}

static inline bool post_is_send(const struct post *post)
{
	return verb_is_send(post->verb);
}

/* How many of its requests, from the first on, the device has taken. */
static inline uint32_t post_taken(const struct post *post)
{
	uint32_t before = post->bad ? post->bad - 1 : 0;

	if (post->verb == VERB_wr_abort)
		return 0;
	return !post->ret ? post->nwr : before < post->nwr ? before : post->nwr;
}

/* A completion: one row of virtual table `wc`; its imm in host order, or the invalidated key. */
struct wc {
	FIELDS_WC(MEMBER)
	FIELDS_EXTRA(MEMBER) /* of an extended CQ, as far as enum event_wc_part in `parts` says */
	/* found by the matcher (core/store/read/match.h) */
	uint32_t qp;             /* object, 0 unknown */
	struct event_id request; /* the post that it completes; 0:0 unknown */
	uint32_t request_index;  /* which of its work requests */
	int64_t posted_at;
	uint32_t candidates; /* of an error but a flush: requests that it may be of */
};

#undef PART_MEMBERS
#undef MEMBER

/* A poll that returned completions or failed. */
struct poll {
	enum verb verb; /* poll_cq, start_poll or next_poll */
	uint64_t handle;
	uint32_t object; /* CQ; 0 unknown */
	int ret;
	uint64_t empty; /* empty polls by this thread of this CQ since its last event */
	uint32_t nwc;
	const struct wc *wc;
};

struct notify {
	uint64_t handle;
	uint32_t object;
	int solicited_only;
	int ret;
};

enum fork_how {
	TRACE_FORKED,   /* fork, clone: the child has a copy of what its parent had */
	TRACE_SPAWNED,  /* vfork, posix_spawn, system, popen: it has nothing of it */
	TRACE_REPLACED, /* exec: the process goes on as another program */
};

struct fork_event {
	uint32_t child; /* process; 0: the child never called a verb */
	uint32_t stack;
	enum fork_how kind;
	const char *how; /* "posix_spawn"; as in the table */
	int pid;         /* of the child, 0 not known */
	int error;       /* errno, 0 none that is known */
};

/* What the program said of itself: table `mark`. */
struct mark_event {
	enum { TRACE_MARK_POINT, TRACE_MARK_BEGIN, TRACE_MARK_END } kind;
	const char *text;
};

enum trace_event_kind {
	TRACE_CALL,   /* a control verb begins; .call, its return already known */
	TRACE_RETURN, /* it has returned; .call */
	TRACE_POST,
	TRACE_POLL,
	TRACE_NOTIFY,
	TRACE_FORK, /* in the parent */
	TRACE_MARK,
	TRACE_PROCESS, /* a process is seen first; .id is its first event */
	TRACE_EXIT,    /* a process has ended */
};

struct trace_event {
	enum trace_event_kind kind;
	struct event_id id; /* of a return: of its call */
	uint32_t process;
	int64_t time; /* ns since the start of the recording */
	bool inner;   /* called by the library or a provider inside another verb */
	bool carried; /* is in the trace before this one, too: --rotate-size */
	union {
		const struct call *call;
		const struct post *post;
		const struct poll *poll;
		const struct notify *notify;
		const struct fork_event *fork;
		const struct mark_event *mark;
	};
};

struct process {
	uint32_t id;
	int pid, ppid;
	uint32_t parent;      /* process of the trace it was forked from; 0 */
	struct event_id fork; /* event of the parent; 0:0 */
	int64_t fork_time;    /* ns */
	uint32_t fork_stack;  /* in table `stack`; 0 */
	int64_t start, end;   /* ns; end is -1 if not known */
	const char *ending;   /* "exit", "_exit", "exec", "killed"; NULL not known */
	int status;           /* as of waitpid(), -1 not known */
	const char *exe, *cmdline;
};

struct thread {
	uint32_t id;
	uint32_t process;
	int tid;
	const char *comm;
	uint64_t events;
	uint64_t carried; /* events up to this one are of the trace before; 0: none */
};

struct frame {
	uint64_t ip;
	const char *module;   /* path, NULL if unknown */
	const char *build_id; /* hex, NULL if unknown */
	uint64_t offset;      /* of @ip in the file's address space */
};

struct writer;

/*
 * The trace that @writer is writing, to be read by the writer's own thread
 * while it is written, through a cursor that is extended. To be closed before
 * the writer is. Returns 0 or -errno after log_err().
 */
int trace_follow(struct writer *writer, struct trace **ret_trace);
bool trace_is_live(const struct trace *trace);

/*
 * Call @tell now and then while cursors read the trace, with the events that the one has read
 * and the time of the last: by who reads, which may be another thread.
 */
void trace_on_progress(struct trace *trace, void (*tell)(uint64_t events, int64_t time));

/* Accepts NULL. */
void trace_close(struct trace *trace);

/* The database, with the virtual tables; borrowed. */
struct sqlite3 *trace_db(struct trace *trace);

/* "version", "clock", "device", ... of table meta; NULL if there is none. */
const char *trace_meta(struct trace *trace, const char *key);

/* N where only one of N posts and of N polls was recorded, at random; else 1. */
uint32_t trace_one_of(struct trace *trace);

/* Counted from 1; NULL past the last. Borrowed until trace_close(). */
const struct process *trace_process(struct trace *trace, uint32_t id);
const struct thread *trace_thread(struct trace *trace, uint32_t id);
const struct object *trace_object(struct trace *trace, uint32_t id);

/*
 * The object at address @handle of @process at @time: the live one; else the
 * last one that was there (its destroyed_at is then before @time); else what
 * @process inherited from the one it was forked from; else NULL.
 */
const struct object *trace_object_at(struct trace *trace, uint32_t process, enum object_kind kind,
				     uint64_t handle, int64_t time);

/* Frames of a stack, innermost first; returns how many, <= @max. Borrowed until trace_close(). */
unsigned int trace_stack(struct trace *trace, uint32_t stack, struct frame *frames,
			 unsigned int max);

/* Lost events over all threads, and whether the trace was cut short. */
struct trace_loss {
	uint64_t events;
	uint64_t overwritten; /* of the events: older than what was kept of the data plane */
	uint64_t late;        /* of the events: before the recording of their thread began */
	uint64_t handlers;    /* of the events: of signal handlers that interrupted the recorder */
	uint64_t damaged;     /* events that could not be read; table `coverage` names them */
	bool interrupted;     /* the recorder died: what came after is not there */
};
struct trace_loss trace_loss(struct trace *trace);

/* What was kept of the bytes of a work request or a completion: table `payload`. */
struct payload {
	const char *kind;    /* "send", "recv", "read", "atomic" */
	const char *why;     /* there is less than was asked for; NULL: there is not */
	uint64_t total;      /* bytes that were moved */
	unsigned int before; /* of them in front of the message: 40 of a datagram's GRH */
	const void *bytes;   /* the first @nbytes of them */
	uint64_t nbytes;
	bool hashed;
	uint64_t hash; /* of those after @before: core/wire/hash.h */
};

/* Were payloads kept at all? */
bool trace_has_payloads(struct trace *trace);

/*
 * That of request @i of a post, or completion @i of a poll. Returns 1, valid
 * until the next call; 0 where there is none; or -errno after log_err().
 */
int trace_payload(struct trace *trace, struct event_id id, uint32_t i, struct payload *ret_payload);

struct cursor;

/* Which events a cursor gives; zeroed: all. */
struct trace_filter {
	uint32_t process, thread; /* 0: any */
	int64_t from, to;         /* ns; to 0: to the end */
	bool control_only;
	bool unmatched; /* completions without their requests: faster */
};

/*
 * Start reading in time order over all threads. @filter may be NULL.
 * The trace must stay open. Returns 0 or -errno after log_err().
 */
int cursor_open(struct trace *trace, const struct trace_filter *filter, struct cursor **ret_cursor);

/*
 * The next event. Returns 1 and an event that is valid until the next call;
 * 0 at the end; -errno after log_err() (damaged trace).
 */
int cursor_next(struct cursor *cursor, const struct trace_event **ret_event);

/*
 * Of a trace that is still written: go on to events of up to @time, once all
 * of them have been given to the writer and writer_settle() was called.
 * cursor_next() then gives them, and 0 when it has: the end until it is
 * extended again. An event that came when later ones had been given already is
 * given at once, and counted. INT64_MAX: all processes have ended, too. 0 or -errno.
 */
int cursor_extend(struct cursor *cursor, int64_t time);
uint64_t cursor_late(const struct cursor *cursor);

/* The post of that name, valid until the next call; 1, 0 if there is none, or -errno. */
int cursor_post(struct cursor *cursor, struct event_id id, const struct post **ret_post);

/* Accepts NULL. */
void cursor_close(struct cursor *cursor);
