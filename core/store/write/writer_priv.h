#pragma once
/*
 * The insides of a writer, for the files that make it up: writer.c (transactions),
 * thread_log.c (threads), calls.c (control verbs), stacks.c, polls.c, processes.c.
 *
 * One thread.
 */
#include "core/store/chunk/batch.h"
#include "core/store/write/payloads.h"
#include "core/store/db/schema.h"
#include "core/base/text.h"
#include "core/store/write/writer.h"
#include "core/wire/desc.h"

/* A control verb that has begun. */
struct pending {
	uint64_t n;
	int64_t begin;
	enum verb verb;
	unsigned int depth;
	bool ours;
	bool stored; /* its row is in `call` already, without an end */
	uint32_t stack;
	uint64_t handle;                    /* the object that it acts on; 0: unknown */
	char *args;                         /* JSON */
	uint64_t async_type, async_element; /* of an ibv_async_event that it takes or returns */
	uint64_t got;                       /* the CQ of ibv_get_cq_event() */
};

/* Polls of one CQ by one thread. */
struct poll_counter {
	uint64_t cq;
	uint32_t life; /* how often the address was used again */
	bool dirty;    /* differs from its row */
	bool dead;     /* destroyed, at @died: later polls are of the next life */
	uint64_t died; /* ticks */
	uint64_t polls, completions;
	uint64_t empty;   /* in this life, as far as known */
	uint64_t seen;    /* the thread's counter in the last event */
	uint64_t carried; /* of `empty`: counted in the trace before this one */
	int64_t last;     /* ns */
};

/* A thread of the traced program. */
struct thread_log {
	uint32_t id, process;
	uint32_t ring; /* its number in the session */
	uint32_t tid;
	int pid;
	uint64_t n;          /* of the last event */
	uint64_t settled;    /* all events up to this one are in the tables */
	uint64_t followed;   /* the live reader has not read chunks that begin after it */
	uint32_t base;       /* seq of the event before its first: rings are used again */
	int64_t start, last; /* ns */
	bool ended;
	struct batch *batch; /* NULL when the thread has ended */
	struct payloads payloads;
	struct pending *pending; /* innermost last */
	size_t npending, pending_size;
	struct poll_counter *counters;
	size_t ncounters, counter;     /* counter: the one found last */
	uint64_t lost;                 /* events that found no room */
	int64_t lost_first, lost_last; /* ns */
	struct {
		uint64_t events;
		int64_t first, last; /* ns */
	} over;                      /* events that were overwritten: keep.c */
	uint32_t *sites;             /* stacks by the number of the site */
	uint32_t nsites;
	uint32_t fork_seq; /* of the last EVENT_FORK, and its event */
	uint64_t fork_n;
	uint64_t first_ticks; /* of the first event that was read */
	uint64_t missed;      /* events before the first that was read */
	uint64_t damaged;     /* events that cannot be read */
	uint32_t damage_rows;
	int64_t damage_row;    /* the last row in `coverage` */
	uint64_t damage_times; /* the events that it counts */
};

struct known_process {
	uint32_t id;
	int pid;
	bool described;     /* its EVENT_PROCESS has come */
	bool over;          /* it has ended, and all its events have arrived */
	const char *ending; /* 'exit', '_exit', 'exec': the end that it has announced; or NULL */
	int status;         /* for 'exit' and '_exit', as from waitpid() */
	int64_t ends;       /* for 'exec': its time */
};

/* A stack that has a number. */
struct known_stack {
	uint64_t hash;
	uint32_t id, process;
	uint32_t modules; /* the highest serial of its frames' */
	uint32_t nframes;
	uint64_t *frames;
};

/* clang-format off */
#define STATEMENTS(S) \
	S(chunk, "INSERT INTO chunk(thread, first_n, last_n, begin, end, events, data)" \
	  " VALUES(?, ?, ?, ?, ?, ?, ?)") \
	S(payload, "INSERT INTO payload_chunk(thread, first_n, last_n, begin, end, events," \
	  " bytes, data) VALUES(?, ?, ?, ?, ?, ?, ?, ?)") \
	S(call, "INSERT INTO call VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?)") \
	S(call_end, "UPDATE call SET end = ?3, ret = ?4, error = ?5, failed = ?6, out = ?7," \
	  " handle = ?8, end_n = ?9 WHERE thread = ?1 AND n = ?2") \
	S(ref, "INSERT OR IGNORE INTO ref VALUES(?, ?, ?, ?, ?, NULL)") \
	S(event, "INSERT OR IGNORE INTO event VALUES(?, ?, ?, ?, ?, ?, ?, NULL)") \
	S(fork, "INSERT OR IGNORE INTO fork VALUES(?, ?, ?, ?, ?, NULL, ?, ?, NULL, NULL, ?)") \
	S(spawned, "UPDATE fork SET pid = nullif(?3, 0), error = nullif(?4, 0) WHERE thread =" \
	  " ?1 AND n = ?2") \
	S(memory, "INSERT OR IGNORE INTO memory VALUES(?, ?, ?, ?, ?, ?, ?, ?, NULL)") \
	S(misuse, "INSERT OR IGNORE INTO misuse VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, 0)," \
	  " ?, ?, ?)") \
	S(mark, "INSERT OR IGNORE INTO mark VALUES(?, ?, ?, ?, ?, ?)") \
	S(stack, "INSERT INTO stack VALUES(?, ?, ?, ?)") \
	S(frame, "INSERT INTO frame VALUES(?, ?, ?, NULL, NULL)") \
	S(module, "INSERT INTO module VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?)") \
	S(process, "INSERT INTO process(id, pid, ppid, start) VALUES(?, ?, ?, ?)") \
	S(process_is, "UPDATE process SET ppid = ?2, exe = ?3, cmdline = ?4, thread = ?5, n =" \
	  " ?6, forked_from = ?7, fork_seq = ?8, fork_time = ?9, start = min(start, ?10) WHERE" \
	  " id = ?1") \
	S(process_limits, "UPDATE process SET memlock = ?2, memlock_most = ?3, nofile = ?4," \
	  " nofile_most = ?5, ipc_lock = nullif(?6, 0) - 1, page_size = ?7 WHERE id = ?1") \
	S(environ, "INSERT OR IGNORE INTO environ VALUES(?, ?, ?)") \
	S(process_end, "UPDATE process SET end = ?2, status = ?3, ending = ?4 WHERE id = ?1") \
	S(thread, "INSERT INTO thread VALUES(?, ?, ?, ?, 0, ?, NULL)") \
	S(thread_is, "UPDATE thread SET events = ?2, end = ?3, process = ?4 WHERE id = ?1") \
	S(loss, "INSERT OR REPLACE INTO loss VALUES(?, ?, ?, ?, ?, ?)") \
	S(oldest, "SELECT * FROM (SELECT id, thread, events, begin, end, first_n FROM chunk" \
	  " WHERE id <= ?1 LIMIT 1) UNION ALL SELECT * FROM (SELECT id, thread, events, begin," \
	  " end, NULL FROM payload_chunk WHERE id <= ?2 LIMIT 1) LIMIT 1") \
	S(forget, "DELETE FROM chunk WHERE id = ?") \
	S(forget_payload, "DELETE FROM payload_chunk WHERE id = ?") \
	S(waited, "INSERT OR IGNORE INTO waited VALUES(?, ?, ?, ?, ?, ?, ?)") \
	S(carried, "INSERT OR REPLACE INTO carried VALUES(?, ?)") \
	S(finding, FINDING_INSERT) \
	S(coverage, "INSERT INTO coverage VALUES(?, ?, ?, ?, ?, ?, NULL, ?, 1)") \
	S(coverage_times, "UPDATE coverage SET times = ?2 WHERE rowid = ?1") \
	S(poll_count, "INSERT OR REPLACE INTO poll_count VALUES(?, ?, ?, ?, NULL, ?, ?, ?, ?)")
/* clang-format on */

enum statement {
#define S(name, sql) STATEMENT_##name,
	STATEMENTS(S)
#undef S
		STATEMENT_COUNT,
};

struct writer {
	sqlite3 *db;
	uint64_t payload_seed;
	sqlite3_stmt *statements[STATEMENT_COUNT];
	struct clock clock;
	int64_t horizon; /* times up to it are known to be possible */
	bool live;
	int err; /* the failure that stopped the writer */
	struct thread_log **logs;
	size_t nlogs, logs_size;
	struct known_process *processes;
	size_t nprocesses;
	struct known_stack *stacks; /* open addressing, a power of two */
	size_t nstacks, stacks_size;
	uint32_t stack_ids; /* the last that was given */
	struct packer packer;
	struct text args, out;
	struct event_count *counts; /* of threads that are not known yet */
	size_t ncounts;
	uint64_t events, lost, damaged;
	uint64_t chunk_bytes;            /* since the last commit */
	uint64_t kept;                   /* bytes of all chunks */
	uint64_t kept_to_cut;            /* of these, those before the last cut */
	uint64_t overwritten;            /* events */
	struct outstanding *outstanding; /* NULL: what is kept begins anywhere */
	struct cut *cuts;                /* that nothing was deleted for yet, oldest first */
	size_t ncuts;
	struct cut *base;              /* where the trace begins; NULL: it is whole */
	int64_t base_first, base_last; /* ids of what it carries; 0: not in the table */
	struct writer_alarms alarms;
	bool unread;            /* table `unread` has chunks */
	bool followed;          /* by a live reader: chunks that it has not read are kept for it */
	int64_t last;           /* ns */
	struct direct *directs; /* functions of providers that were called */
	size_t ndirects;
};

/* Run a statement of the list: sql_run(), and remember a failure. */
#define WRITER_RUN(writer, name, ...) \
	writer_fail(writer, sql_run((writer)->statements[STATEMENT_##name], __VA_ARGS__))

/*
 * keep.c: a live reader follows the trace; has read a chunk; has ended.
 */
int writer_follow(struct writer *writer);
int writer_followed(struct writer *writer, uint32_t thread, uint64_t first_n);
void writer_unfollow(struct writer *writer);

/* keep.c: delete all chunks up to the one with id @chunk, of payload up to @payload_chunk */
int keep_forget(struct writer *writer, int64_t chunk, int64_t payload_chunk);

/* One event of a post, which may have several: the number and time of the first, and so on. */
struct cut_part {
	uint64_t n;
	int64_t time;
	uint32_t first, stack;
};

/* cut.c: note events, where writer->outstanding is not NULL. 0 or the writer's failure. */
int cuts_post(struct writer *writer, struct thread_log *log, const struct event_post *event,
	      const struct cut_part *part);
int cuts_poll(struct writer *writer, struct thread_log *log, const struct event_poll *event,
	      uint64_t n, int64_t time, uint32_t stack);
int cuts_notify(struct writer *writer, struct thread_log *log, const struct event_notify *event,
		uint64_t n, int64_t time);
/* A control verb that has succeeded; @out: what it wrote, as JSON. */
int cuts_call(struct writer *writer, const struct thread_log *log, const struct pending *call,
	      const char *out, int64_t time);
/* Put what was carried into the tables; take it out, if a live reader would read it. */
int cuts_show(struct writer *writer);
int cuts_hide(struct writer *writer);
void cuts_fini(struct writer *writer);

/* Table `meta` of a new trace: what is recorded, on which machine, by whom. 0 or -errno. */
int writer_describe_run(struct writer *writer, const struct writer_info *info);

/* Remember @err as the failure that stopped the writer, unless it is 0 or not the first. */
int writer_fail(struct writer *writer, int err);

/* The time of @ticks; @otherwise if that is impossible: the program's ticks are not trusted. */
int64_t writer_time(struct writer *writer, uint64_t ticks, int64_t otherwise);

/* Note in table `coverage` that something could not be seen or read. */
int writer_cover(struct writer *writer, const struct thread_log *log, uint64_t n, int64_t time,
		 const char *what, uint64_t handle, const char *detail);

/* keep.c: bring the thread's row of table `loss` up to date */
int writer_loss(struct writer *writer, struct thread_log *log);

/* thread_log.c: write the batch as a chunk; write all that is not in the tables yet. */
int thread_log_flush(struct writer *writer, struct thread_log *log);
int thread_log_store(struct writer *writer, struct thread_log *log);
int thread_log_waited(struct writer *writer, struct thread_log *log,
		      const struct event_waited *event, uint64_t n, int64_t time);
void thread_log_free(struct thread_log *log);

/* calls.c; @n and @time are the event's. All return 0, -EBADMSG or the writer's failure. */
int calls_begin(struct writer *writer, struct thread_log *log, const struct event_call *event,
		uint64_t n, int64_t time);
int calls_end(struct writer *writer, struct thread_log *log, const struct event_return *event,
	      uint64_t n, int64_t time);
/* Store the calls that have not returned yet. */
int calls_flush(struct writer *writer, struct thread_log *log);
void calls_fini(struct thread_log *log);

/* direct.c: take a call of a provider's own function; bring all rows up to date. */
int direct_event(struct writer *writer, struct thread_log *log, const struct event_direct *event,
		 uint64_t n, int64_t time);
int direct_flush(struct writer *writer);

/* stacks.c: the number of a stack, 0 for none; @modules: the newest of its modules. */
int stacks_number(struct writer *writer, uint32_t process, uint32_t modules, const uint64_t *frames,
		  uint32_t nframes, uint32_t *ret_stack);
/* A place that makes posts of the thread; and its stack, 0: not known. */
int stacks_site(struct writer *writer, struct thread_log *log, const struct event_site *event);
static inline uint32_t stacks_of_site(const struct thread_log *log, uint16_t site)
{
	return site < log->nsites ? log->sites[site] : 0;
}
void stacks_fini(struct writer *writer);

/* polls.c: count a poll; *@ret_empty: empty polls since the last recorded one. */
int polls_count(struct writer *writer, struct thread_log *log, const struct event_poll *event,
		int64_t time, uint64_t *ret_empty);
/* A counter as it was when its CQ was destroyed. */
int polls_destroyed(struct writer *writer, const struct event_count *event, size_t bytes);
/* Take the counters of the new thread @log that arrived before it. */
int polls_adopt(struct writer *writer, struct thread_log *log);
/* Take the counters in a ring's head when its thread ends. */
int polls_final(struct writer *writer, struct thread_log *log, const struct ring_head *head);
/* The log of a thread, by its ring; NULL: it was not read yet. */
struct thread_log *polls_find_log(struct writer *writer, uint32_t ring, uint32_t tid);
int polls_flush(struct writer *writer, struct thread_log *log);
/* All polls counted so far are also in the trace before this one. */
void polls_carry(struct thread_log *log);

/*
 * payloads_write.c: take a piece, or a post that may have some; write what is ready as a chunk;
 * note what is missing.
 */
int payloads_take(struct writer *writer, struct thread_log *log, const struct event_head *event,
		  uint64_t n, int64_t time);
int payloads_flush(struct writer *writer, struct thread_log *log);
int payloads_cover(struct writer *writer, struct thread_log *log);

/* misuse.c */
int misuse_event(struct writer *writer, struct thread_log *log, const struct event_misuse *event,
		 uint64_t n, int64_t time);

/* processes.c */
int processes_new(struct writer *writer, int pid, int64_t start, uint32_t *ret_process);
struct known_process *processes_of_pid(struct writer *writer, int pid);
int processes_event(struct writer *writer, struct thread_log *log,
		    const struct event_process *event, uint64_t n, int64_t time);
int processes_module(struct writer *writer, struct thread_log *log,
		     const struct event_module *event, int64_t time);
int processes_fork(struct writer *writer, struct thread_log *log, const struct event_fork *event,
		   uint64_t n, int64_t time);
int processes_spawned(struct writer *writer, struct thread_log *log,
		      const struct event_spawned *event);
int processes_memory(struct writer *writer, struct thread_log *log,
		     const struct event_memory *event, uint64_t n, int64_t time);
int processes_exit(struct writer *writer, struct thread_log *log, const struct event_exit *event,
		   int64_t time);
/* The process is dead; @status as from waitpid(), -1 if not known. */
int processes_end(struct writer *writer, struct known_process *process, int64_t time, int status);
