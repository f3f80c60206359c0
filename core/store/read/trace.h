#pragma once
/*
 * A recorded trace, read in time order.
 *
 * The events are the same whether the data plane is in chunks (as recorded) or in plain tables
 * (after `verbatim unpack`). A struct trace and everything obtained from it are used by one thread
 * at a time; but a cursor of a finished trace may be used by a different thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/db/args.h"
#include "core/store/db/ids.h"
#include "core/store/db/totals.h"
#include "core/wire/desc.h"
#include "core/wire/launcher.h"
#include "core/wire/misuse.h"
#include "gen/data_gen.h"

struct sqlite3;
struct trace;

/* A control verb: table `call`. */
struct call {
	enum verb verb;
	int64_t begin, end; /* ns since the start; end is -1 if it never returned */
	int64_t ret;
	int error;          /* errno after the call */
	unsigned int depth; /* 0: called by the application */
	bool ours;          /* the recorder itself called it, to query the device */
	bool failed;
	uint32_t stack;    /* id in table `stack`; 0: none */
	uint32_t object;   /* id of the object that it used or created; 0: unknown or none */
	uint64_t handle;   /* the address of that object */
	struct args *args; /* before the call, by argument name; NULL: not known */
	struct args *out;  /* after the call; "ret" has the fields of a new object */
};

/* Members of a family of columns: core/wire/data.list describes each. */
#define MEMBER(family, column, name, member, type, wire) type name;
#define PART_MEMBERS(NAME, part)                         FIELDS_##NAME(MEMBER)

struct sge {
	FIELDS_SGE(MEMBER)
};

/* A work request: one row of virtual table `wr`. Members of parts that the request lacks are 0. */
struct wr {
	uint64_t wr_id;
	int opcode; /* enum ibv_wr_opcode; -1 for a receive */
	uint32_t send_flags;
	int num_sge; /* the application's value; nsge elements were recorded */
	uint32_t nsge;
	uint32_t imm; /* host order: the immediate data, or the key to invalidate */
	EACH_SHOWN_PART(PART_MEMBERS)

	const struct sge *sge;
};

/* The sum of the lengths of the request's recorded elements. */
static inline uint64_t wr_bytes(const struct wr *wr)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < wr->nsge; i++)
		bytes += wr->sge[i].length;
	return bytes;
}

/* One call of ibv_post_*(), or a batch ended by ibv_wr_complete() or ibv_wr_abort(). */
struct post {
	enum verb verb;
	uint64_t handle;
	uint32_t object; /* QP, SRQ or WQ; 0 unknown */
	int ret;
	uint32_t bad; /* 0, or 1 + index of *bad_wr */
	uint32_t nwr;
	uint32_t stack; /* id in table `stack`; 0: not known */
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

/* The number of requests of the post, from the first on, that the device has accepted. */
static inline uint32_t post_taken(const struct post *post)
{
	uint32_t before = post->bad ? post->bad - 1 : 0;

	if (post->verb == VERB_wr_abort)
		return 0;
	return !post->ret ? post->nwr : before < post->nwr ? before : post->nwr;
}

/*
 * A completion: one row of virtual table `wc`. imm is in host order: immediate data, or the
 * invalidated key.
 */
struct wc {
	FIELDS_WC(MEMBER)
	FIELDS_EXTRA(MEMBER) /* of an extended CQ; valid by `parts`, enum event_wc_part */
	/* set by the matcher (core/store/read/match.h): */
	uint32_t qp;             /* object id; 0: unknown */
	struct event_id request; /* the post that it completes; 0:0: unknown */
	uint32_t request_index;  /* index of the work request in the post */
	int64_t posted_at;
	/* of an error other than a flush: number of requests that it may belong to */
	uint32_t candidates;
	/* the candidate in the other queue: a send if `request` is a receive, or the reverse */
	struct event_id other; /* 0:0: none */
	uint32_t other_index;
	int64_t other_posted_at;
};

#undef PART_MEMBERS
#undef MEMBER

/* A poll that returned completions or failed. */
struct poll {
	enum verb verb; /* poll_cq, start_poll or next_poll */
	bool filled;    /* the array of ibv_poll_cq had no room for more; false in older traces */
	uint64_t handle;
	uint32_t object; /* CQ; 0 unknown */
	int ret;
	uint64_t empty; /* empty polls of this CQ by this thread since its last recorded poll */
	uint32_t nwc;
	/* id in table `stack`, for a failure or an error that is not a flush; else 0 */
	uint32_t stack;
	const struct wc *wc;
};

struct notify {
	uint64_t handle;
	uint32_t object;
	int solicited_only;
	int ret;
};

enum fork_how {
	TRACE_FORKED,   /* fork, clone: the child inherits the parent's objects */
	TRACE_SPAWNED,  /* vfork, posix_spawn, system, popen: the child does not inherit them */
	TRACE_REPLACED, /* exec: the process continues as another program */
};

struct fork_event {
	uint32_t child; /* process; 0: it never called a verb */
	uint32_t stack;
	enum fork_how kind;
	const char *how; /* "posix_spawn", as in table `fork` */
	int pid;         /* of the child; 0: not known */
	int error;       /* errno; 0: no error, or not known */
	/*
	 * "HANDLE:DESCRIPTOR ..." of the contexts and channels that stay open after an exec; or
	 * NULL
	 */
	const char *staying;
};

/*
 * A mark that the program has set, or that the recorder has set for an injected fault: table
 * `mark`.
 */
struct mark_event {
	enum { TRACE_MARK_POINT, TRACE_MARK_BEGIN, TRACE_MARK_END, TRACE_MARK_FAULT } kind;
	const char *text;
};

/* Registered memory was released: table `memory`. */
struct memory_event {
	const char *what; /* "munmap", as in table `memory` */
	uint64_t addr, length;
	uint32_t stack;
};

/* A misuse found by `record --strict`, before the verb was called: table `misuse`. */
struct writer_note_misuse {
	enum event_misuse_what what;
	enum verb verb;    /* VERB_COUNT: a field was read */
	const char *field; /* the field that was read, such as "byte_len"; or NULL */
	int status;        /* if a field was read: enum ibv_wc_status of the completion */
	uint64_t handle;   /* CQ, QP or SRQ */
	uint64_t of;       /* another object involved; 0: none */
	uint32_t other;    /* other thread involved; 0: none, or not known */
	enum verb other_verb;
	uint32_t stack;
};

/* The name of @what, such as "field-of-error". */
const char *trace_misuse_name(enum event_misuse_what what);

enum trace_event_kind {
	TRACE_CALL,   /* a control verb begins; .call already has its result */
	TRACE_RETURN, /* the control verb has returned; .call */
	TRACE_POST,
	TRACE_POLL,
	TRACE_NOTIFY,
	TRACE_FORK, /* a fork, in the parent */
	TRACE_MARK,
	TRACE_MEMORY,
	TRACE_MISUSE,
	TRACE_PROCESS, /* a new process; .id is its first event */
	TRACE_EXIT,    /* a process has ended */
};

struct trace_event {
	enum trace_event_kind kind;
	struct event_id id; /* of a return: the id of the call */
	uint32_t process;
	int64_t time; /* ns since the start of the recording */
	bool inner;   /* called by the library or a provider, inside another verb */
	bool carried; /* also in the previous trace (--rotate-size) */
	/*
	 * A post or poll that is the thread's last one of that verb, handle and @inner again: all
	 * recorded members are the same, except the number of empty polls; so is a post's object.
	 */
	bool again;
	union {
		const struct call *call;
		const struct post *post;
		const struct poll *poll;
		const struct notify *notify;
		const struct fork_event *fork;
		const struct mark_event *mark;
		const struct memory_event *memory;
		const struct writer_note_misuse *misuse;
	};
};

/* The verb of a call, post, poll or notification request; VERB_COUNT for other events. */
enum verb trace_verb(const struct trace_event *event);

struct process {
	uint32_t id;
	int pid, ppid;
	uint32_t parent;      /* the process from which it was forked; 0: none */
	struct event_id fork; /* event of the parent; 0:0: none */
	int64_t fork_time;    /* ns */
	uint32_t fork_stack;  /* id in table `stack`; 0: none */
	int64_t start, end;   /* ns; end is -1 if not known */
	const char *ending;   /* "exit", "_exit", "exec", "killed"; NULL: not known */
	int status;           /* as from waitpid(); -1: not known */
	const char *exe, *cmdline;
	/* values at the first verb of the process; a limit may be PROCESS_UNLIMITED */
	uint32_t page_size; /* 0: not known, like the limits */
	uint64_t memlock, memlock_most, nofile, nofile_most;
	int ipc_lock; /* CAP_IPC_LOCK: 1, 0; -1 not known */
	struct rank rank;
};

#define PROCESS_UNLIMITED UINT64_MAX

struct thread {
	uint32_t id;
	uint32_t process;
	int tid;
	const char *comm;
	uint64_t events;
	uint64_t carried; /* events up to this number are also in the previous trace; 0: none */
	/* when the thread ended, or the time of its last event if that is later; */
	int64_t end;
	/* INT64_MIN: not known */
};

struct frame {
	uint64_t ip;
	const char *module;   /* path, NULL if unknown */
	const char *build_id; /* hex, NULL if unknown */
	uint64_t offset;      /* of @ip in the file's address space */
};

struct writer;

/*
 * Open the trace that @writer is writing. The writer's own thread reads it with cursor_extend().
 * Close it before the writer. Returns 0 or -errno after log_err().
 */
int trace_follow(struct writer *writer, struct trace **ret_trace);
bool trace_is_live(const struct trace *trace);

/* Does the trace have a completion in error? trace_errors.c */
bool trace_has_errors(struct trace *trace);

/*
 * Call @tell from time to time while the trace is read, in the reading thread, with the number of
 * events returned so far and the time of the last one.
 */
void trace_on_progress(struct trace *trace, void (*tell)(uint64_t events, int64_t time));

/* Accepts NULL. */
void trace_close(struct trace *trace);

/* The database, with the virtual tables; borrowed. */
struct sqlite3 *trace_db(struct trace *trace);

/* The value of @key in table meta: "version", "clock", "device", ...; NULL: none. */
const char *trace_meta(struct trace *trace, const char *key);

/* N if only one of N posts and one of N polls was recorded, at random; else 1. */
uint32_t trace_sampling_factor(struct trace *trace);

/* Process @id, from 1; NULL after the last. Borrowed until trace_close(). */
const struct process *trace_process(const struct trace *trace, uint32_t id);

/*
 * The times of the last events of processes up to @nprocesses - 1, ns; INT64_MIN if it has no
 * event. The queries take long on an unpacked trace.
 */
void trace_last_times(struct trace *trace, int64_t *last, uint32_t nprocesses);

/*
 * From now on until the trace is closed, name processes of a job by their ranks
 * (process_id_text()). Does nothing if another trace is open. 0 or -ENOMEM.
 */
int trace_name_ranks(struct trace *trace);

/*
 * The value of variable @name in the environment of @process at its first verb; "" if it was not
 * set or belongs to no RDMA library. Returns whether it was set.
 */
bool trace_environ(struct trace *trace, uint32_t process, const char *name, char *value,
		   size_t size);
const struct thread *trace_thread(struct trace *trace, uint32_t id);
const struct object *trace_object(struct trace *trace, uint32_t id);

/*
 * The object at address @handle of @process at @time: the one that is alive; else the last one
 * created there before (its destroyed_at is before @time); else the one that @process inherited
 * from its parent; else NULL.
 */
const struct object *trace_object_at(struct trace *trace, uint32_t process, enum object_kind kind,
				     uint64_t handle, int64_t time);

/*
 * The number of objects of @kind in @process (0: in all) that are alive at @time. In a trace that
 * is still being written: alive now, in all processes.
 */
uint64_t trace_alive(struct trace *trace, enum object_kind kind, uint32_t process, int64_t time);

/*
 * The connections of queue pairs, derived from the calls at the first use; borrowed until
 * trace_close(), or until a clock of a joint trace is set. Not for a trace that is still being
 * written. 0 or -errno after log_err().
 */
struct connections;
int trace_connections(struct trace *trace, const struct connections **ret_connections);

/* The queues of the trace: table `queue`. 0 or -errno. */
struct queue_table;
int trace_queues(struct trace *trace, const struct queue_table **ret_queues);

/*
 * Does @name name @object: "qp1" of any process; "qp1/2" of process 2; "b.db:qp1/2" of part b.db of
 * a joint trace (core/store/db/object_name.h)?
 */
bool trace_object_is(const struct trace *trace, const struct object *object, const char *name);

/*
 * Frames of a stack, innermost first; returns their number, at most @max. Borrowed until
 * trace_close().
 */
unsigned int trace_stack(struct trace *trace, uint32_t stack, struct frame *frames,
			 unsigned int max);

/*
 * Is librdmacm among the @depth innermost frames? Then it made the call, or called the code that
 * made it. The first frame may be the recorder's own.
 */
bool trace_stack_has_cm(struct trace *trace, uint32_t stack, unsigned int depth);

/* The lost events of all threads, and whether the trace was cut short. */
struct trace_loss {
	uint64_t events;
	uint64_t overwritten; /* of @events: older than the stored part of the data plane */
	uint64_t late;        /* of @events: before the recording of their thread began */
	uint64_t handlers;    /* of @events: in signal handlers that interrupted the recorder */
	uint64_t damaged;     /* unreadable events; table `coverage` lists them */
	/* not in @events: the recorder read them from the ring, but failed to write them */
	uint64_t unwritten;
	bool interrupted; /* the recorder died or failed: later events are missing */
};
struct trace_loss trace_loss(struct trace *trace);

/*
 * The numbers of the trace, as docs/GLOSSARY.md defines them. They count more events than a cursor
 * returns: some events only describe the program. In a trace that is still being written nothing
 * counts as overwritten, since the reader has read all of it.
 */
struct totals trace_totals(struct trace *trace);

/*
 * The fault that the recorder injected into event @id: "ibv_reg_mr() fails with ENOMEM (line 3)";
 * NULL: none. trace_made_fault() is for a call or post, trace_made_fault_before() for a poll or
 * notification. In a trace that is still being written, the text is valid until the next call of
 * one of these.
 */
const char *trace_made_fault(const struct trace *trace, struct event_id id);
const char *trace_made_fault_before(const struct trace *trace, struct event_id id);

/* The number of faults; fault @n, from 0, and its event; NULL: no more. */
size_t trace_count_faults(const struct trace *trace);
const char *trace_nth_fault(const struct trace *trace, size_t n, struct event_id *ret_id);

/* trace_totals().events */
uint64_t trace_events(struct trace *trace);

/* Posts and polls before this time may be missing; INT64_MIN: none are. */
int64_t trace_complete_since(const struct trace *trace);

/*
 * The time at which the trace begins. Of the data plane before it, only requests that were
 * outstanding are in the trace, with everything that they depend on
 * (core/store/write/outstanding.c). INT64_MIN: the trace was not cut.
 */
int64_t trace_cut(const struct trace *trace);

/* Does the trace have everything that events after the cut depend on? */
bool trace_is_closed(const struct trace *trace);

/* The captured bytes of a work request or a completion: table `payload`. */
struct payload {
	const char *kind; /* "send", "recv", "read", "atomic" */
	const char *why;  /* why fewer bytes were captured than requested; NULL: all were */
	uint64_t total;   /* bytes that were transferred */
	/* bytes before the message, included in @total: 40 for a datagram's GRH */
	unsigned int before;
	const void *bytes; /* the first @nbytes bytes */
	uint64_t nbytes;
	bool hashed;
	uint64_t hash; /* of the bytes after @before: core/wire/hash.h */
};

/* Does the trace have payloads? */
bool trace_has_payloads(struct trace *trace);

/*
 * The payload of request @i of a post, or completion @i of a poll. Returns 1, and a payload that is
 * valid until the next call; 0 if there is none; or -errno after log_err().
 */
int trace_payload(struct trace *trace, struct event_id id, uint32_t i, struct payload *ret_payload);

struct cursor;

/* The events that a cursor returns; zeroed: all. */
struct trace_filter {
	uint32_t process, thread; /* 0: any */
	int64_t from, to;         /* ns; to is 0: to the end */
	bool control_only;
	bool unmatched; /* do not match completions to requests: faster */
	/* a separate thread reads: no progress is reported, and the file is opened again */
	bool apart;
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
 * For a trace that is still being written: continue with events up to @time. All of these events
 * must have been passed to the writer, and then writer_store_logs() called. cursor_next() returns
 * them, then 0 until the cursor is extended again. An event that arrives after later events were
 * returned is returned at once, and cursor_late_events() counts it. @time INT64_MAX: all processes
 * have ended. 0 or -errno.
 */
int cursor_extend(struct cursor *cursor, int64_t time);
uint64_t cursor_late_events(const struct cursor *cursor);

/* Read the post @id, valid until the next call: 1; 0 if there is no such post; or -errno. */
int cursor_post(struct cursor *cursor, struct event_id id, const struct post **ret_post);

/* Accepts NULL. */
void cursor_close(struct cursor *cursor);
