#pragma once
/*
 * Internals of a writer: writer_base.c (shared functions), writer.c (transactions), writer_end.c
 * (its end), thread_log.c (threads), calls.c (control verbs), stacks.c, polls.c, processes.c.
 *
 * Not thread-safe.
 */
#include "core/base/map.h"
#include "core/store/chunk/batch.h"
#include "core/store/chunk/call_batch.h"
#include "core/store/write/needed.h"
#include "core/store/write/payloads.h"
#include "core/store/db/schema.h"
#include "core/base/text.h"
#include "core/store/write/writer.h"
#include "core/wire/desc.h"

/* A handle in the arguments of a call. */
struct pending_ref {
	size_t path; /* in the call's `paths` */
	enum object_kind kind;
	uint64_t handle;
};

/* A control verb that has begun. */
struct pending {
	uint64_t n;
	int64_t begin;
	enum verb verb;
	unsigned int depth;
	bool ours;
	bool stored; /* its row is in `call` already, without an end */
	bool done;   /* it has returned; the rest of `done` is valid */
	uint32_t stack;
	uint64_t handle;                    /* the object that it uses; 0: unknown */
	char *args, *out;                   /* JSON */
	uint64_t async_type, async_element; /* of an ibv_async_event, input or output */
	uint64_t got;                       /* the CQ of ibv_get_cq_event() */
	enum object_kind parent_kind;       /* of `parent` */
	uint64_t parent;                    /* the first handle among its arguments; 0: none */
	struct pending_ref *refs;           /* references not in the trace yet */
	size_t nrefs;
	struct text paths;
	int64_t end, ret, error;
	uint64_t end_n;
};

/* Polls of one CQ by one thread. */
struct poll_counter {
	uint64_t cq;
	uint32_t life; /* how many times the address was reused */
	bool dirty;    /* differs from its row */
	bool dead;     /* destroyed, at @died: later polls are of the next life */
	uint64_t died; /* ticks */
	uint64_t polls, completions;
	uint64_t empty;   /* in this life, as far as known */
	uint64_t seen;    /* the thread's counter in its last event */
	uint64_t carried; /* of `empty`: already counted in the previous trace */
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
	uint64_t past;       /* up to this event the tables have only needed events: forget.c */
	uint64_t followed;   /* the live reader has not read chunks that begin after this event */
	uint32_t base;       /* seq of the event before its first: rings are reused */
	int64_t start, last; /* ns */
	int64_t gone;        /* when the thread ended; 0: not known */
	bool ended;
	struct batch *batch; /* NULL after the thread has ended */
	struct payloads payloads;
	struct pending *pending; /* innermost last */
	size_t npending, pending_size;
	struct call_batch *calls; /* calls that repeat; NULL: none yet */
	uint32_t calls_stored;    /* number of these that are in the trace */
	uint32_t calls_new;       /* those that the last commit added */
	struct poll_counter *counters;
	size_t ncounters, counter;     /* counter: the last one found */
	uint64_t lost;                 /* events without space in the ring */
	int64_t lost_first, lost_last; /* ns */
	struct {
		uint64_t events;
		int64_t first, last; /* ns */
	} over;                      /* events that were overwritten: cut.c */
	struct known_stack **sites;  /* by site number; NULL: not known */
	uint32_t nsites;
	uint32_t fork_seq; /* that of the last EVENT_FORK, and its event */
	uint64_t fork_n;
	uint64_t first_ticks; /* of the first event that was read */
	uint64_t missed;      /* events before the first one that was read */
	uint64_t damaged;     /* events that cannot be read */
	uint32_t damage_rows;
	int64_t damage_row;    /* the last row in `coverage` */
	uint64_t damage_times; /* the events that it counts */
};

struct known_process {
	uint32_t id;
	int pid;
	bool described;     /* its EVENT_PROCESS was read */
	bool over;          /* it has ended, and all its events have arrived */
	bool left;          /* no other process has its objects */
	int64_t over_at;    /* when it has ended */
	uint32_t parent;    /* the process that it was forked from; 0: none, or not known */
	uint32_t fork_seq;  /* and the fork's number in that process */
	uint32_t logs;      /* its threads in the trace */
	uint32_t children;  /* processes in the trace that were forked from it */
	const char *ending; /* 'exit', '_exit', 'exec': the announced end; or NULL */
	int status;         /* for 'exit' and '_exit', as from waitpid() */
	int64_t ends;       /* for 'exec': its time */
};

/* A stack with a number. */
struct known_stack {
	uint64_t hash;
	uint32_t id, process;
	uint32_t modules; /* highest serial of its frames' modules */
	uint32_t nframes;
	uint32_t sites; /* sites of running threads that need it in memory */
	bool stored;    /* its rows are in the trace */
	bool marked;    /* stacks_forget() */
	int64_t used;   /* time of the last event with it */
	uint64_t *frames;
};

/* An object file whose address range was later mapped by another file. */
struct old_module {
	int64_t id;
	uint32_t process, serial; /* serial: of the later file */
	uint64_t start, end;
};

/* The effect of a cut on the control plane: forget.c */
struct control_cut {
	int64_t time;
	int64_t limit;    /* no remaining event refers to objects that were destroyed before it */
	uint64_t derived; /* growth of writer->derived since the previous cut */
	uint32_t nlogs;
	struct event_id *ends; /* the last events of threads that had not ended, by thread */
	size_t nends;
	struct event_id *open; /* calls that had not returned */
	size_t nopen;
};

/* clang-format off */
#define PAST "WHERE thread = ? AND n > ? AND n <= ?"
#define PAST_CALLS PAST " AND NOT is_needed(thread, n)"
#define STATEMENTS(S) \
	S(chunk, "INSERT INTO chunk(thread, first_n, last_n, begin, end, events, data)" \
	  " VALUES(?, ?, ?, ?, ?, ?, ?)") \
	S(payload, "INSERT INTO payload_chunk(thread, first_n, last_n, begin, end, events," \
	  " bytes, data) VALUES(?, ?, ?, ?, ?, ?, ?, ?)") \
	S(call_chunk, "INSERT OR REPLACE INTO main.call_chunk VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?," \
	  " ?)") \
	S(call, "INSERT INTO main.call VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?," \
	  " ?)") \
	S(call_end, "UPDATE main.call SET end = ?3, ret = ?4, error = ?5, failed = ?6, out = ?7," \
	  " handle = ?8, end_n = ?9 WHERE thread = ?1 AND n = ?2") \
	S(ref, "INSERT OR IGNORE INTO main.ref VALUES(?, ?, ?, ?, ?, NULL)") \
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
	S(counter, "INSERT OR REPLACE INTO counter VALUES(0, ?, ?, ?, ?, ?, ?)") \
	S(counter_sample, "INSERT OR REPLACE INTO counter_sample VALUES(0, ?, ?, ?, ?, ?, ?)") \
	S(sample, "INSERT OR REPLACE INTO sample VALUES(?, ?, ?, ?, ?)") \
	S(size, "SELECT (SELECT page_count FROM pragma_page_count)" \
	  " - (SELECT freelist_count FROM pragma_freelist_count)") \
	S(drop_call, "DELETE FROM main.call WHERE thread = ? AND n = ?") \
	S(drop_refs, "DELETE FROM main.ref WHERE thread = ? AND n = ?") \
	S(drop_event, "DELETE FROM event WHERE thread = ? AND n = ?") \
	S(past_calls, "DELETE FROM main.call " PAST_CALLS) \
	S(past_refs, "DELETE FROM main.ref " PAST_CALLS) \
	S(past_blocks, "SELECT first_n, data FROM main.call_chunk WHERE thread = ?" \
	  " AND last_n <= ? ORDER BY first_n LIMIT 1") \
	S(drop_block, "DELETE FROM main.call_chunk WHERE thread = ? AND first_n = ?") \
	S(past_events, "DELETE FROM event " PAST_CALLS) \
	S(past_forks, "DELETE FROM fork " PAST " AND NOT is_parting(process, fork_seq)") \
	S(past_memory, "DELETE FROM memory " PAST) \
	S(past_misuse, "DELETE FROM misuse " PAST) \
	S(past_marks, "DELETE FROM mark " PAST) \
	S(past_waits, "DELETE FROM waited " PAST) \
	S(past_polls, "DELETE FROM poll_count WHERE last < ?") \
	S(call_ended, "SELECT end FROM main.call WHERE thread = ? AND n = ?") \
	S(numbered, "INSERT OR REPLACE INTO object(id, process, kind, ordinal, created_thread," \
	  " created_n) VALUES(?, ?, ?, ?, nullif(?, 0), nullif(?, 0))") \
	S(unnumbered, "DELETE FROM object WHERE id = ?") \
	S(drop_stack, "DELETE FROM stack WHERE id = ?") \
	S(drop_frames, "DELETE FROM frame WHERE stack = ?") \
	S(drop_module, "DELETE FROM module WHERE id = ?") \
	S(covered, "SELECT id, start, end FROM module WHERE process = ? AND start < ? AND end > ?" \
	  " AND id < ?") \
	S(drop_thread, "DELETE FROM thread WHERE id = ?") \
	S(drop_loss, "DELETE FROM loss WHERE thread = ?") \
	S(drop_carried, "DELETE FROM carried WHERE thread = ?") \
	S(drop_polls, "DELETE FROM poll_count WHERE thread = ?") \
	S(drop_samples, "DELETE FROM sample WHERE thread = ?") \
	S(drop_process, "DELETE FROM process WHERE id = ?") \
	S(unname_event, "UPDATE process SET thread = NULL, n = NULL WHERE thread = ?") \
	S(drop_environ, "DELETE FROM environ WHERE process = ?") \
	S(drop_modules, "DELETE FROM module WHERE process = ?") \
	S(drop_numbers, "DELETE FROM object WHERE process = ?") \
	S(drop_fork, "DELETE FROM fork WHERE process = ? AND fork_seq = ? AND time < ?") \
	S(fork_stacks, "SELECT stack FROM fork") \
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
	int64_t horizon; /* times up to it are known to be valid */
	bool live;
	int err; /* the failure that stopped the writer */
	bool stopped;
	bool before;     /* a previous trace is set aside */
	int file;        /* O_PATH: the trace itself, even if it was renamed; -1 */
	int64_t longest; /* largest size of the file so far */
	struct thread_log **logs;
	size_t nlogs, logs_size;
	struct known_process **processes; /* by id - 1; NULL: forgotten */
	size_t nprocesses;
	struct known_stack **stacks; /* open addressing, a power of two */
	size_t nstacks, stacks_size;
	uint32_t stack_ids; /* the last id used */
	struct packer packer;
	struct text args, out;
	uint32_t calls_plain;    /* calls of each shape that are rows */
	struct map shapes;       /* by hash: number of its calls so far, up to calls_plain */
	struct call_shape shape; /* of the call that is being stored, with its references */
	struct ref_row *refs;
	size_t refs_size;
	struct shapes_packer calls;
	struct event_count *counts; /* for threads that are not known yet */
	size_t ncounts;
	uint64_t events, lost, damaged;
	uint64_t committed; /* of these events: committed, so they survive a kill */
	uint64_t commits;
	void (*before_commit)(void *arg); /* writer_on_commit(); NULL: none */
	void *commit_arg;
	int log_pages;                   /* of the write-ahead log; known with before_commit only */
	uint64_t chunk_bytes;            /* since the last commit */
	uint64_t kept;                   /* bytes of all chunks */
	uint64_t kept_to_cut;            /* of these, before the last cut */
	uint64_t made;                   /* objects, by calls in blocks */
	uint64_t derived;                /* bytes of rows that completing the trace will add */
	uint64_t derived_to_cut;         /* of these, before the last cut */
	uint64_t overwritten;            /* events */
	uint64_t committed_overwritten;  /* of these, committed ones */
	struct outstanding *outstanding; /* NULL: no cuts; the data plane may begin at any event */
	struct cut *cuts;                /* cuts without deletion so far, oldest first */
	size_t ncuts;
	struct needed *needed;  /* NULL: the control plane is stored completely */
	uint64_t most;          /* limit of the file size in bytes; 0: none */
	int64_t time;           /* of the current event */
	uint64_t size, grown;   /* bytes in use at the last measurement; growth so far */
	uint64_t grown_to_cut;  /* the growth at the last cut */
	uint64_t looked_at;     /* number of events when writer_has_more() last measured */
	uint64_t looked_kept;   /* size of chunks at that time */
	int64_t last_cut;       /* its time */
	struct control_cut due; /* events before it must be deleted; time INT64_MIN: none */
	int64_t read_to;        /* the live reader has read events before this time */
	struct map open;        /* calls that had not returned at the cut, by thread and n */
	struct event_id *late;  /* the same as a list */
	size_t nlate;
	struct old_module *old_modules;
	size_t nold_modules;
	struct {
		uint64_t lost, over; /* events of threads that were deleted */
		int64_t first, last;
		uint64_t threads, processes, stacks; /* rows */
	} gone;
	uint64_t discarded;
	struct cut *base;              /* the beginning of the trace; NULL: it is whole */
	int64_t base_first, base_last; /* ids of its carried chunks; 0: not in the table */
	struct writer_redact redact;
	struct text redacted; /* the last text that was replaced */
	bool passwords;       /* passwords in command lines are not masked */
	struct writer_alarms alarms;
	void (*on_alarm)(void *arg, const struct writer_alarm *alarm); /* NULL: none */
	void *alarm_arg;
	void (*on_direct)(void *arg, const char *function, uint32_t process); /* NULL: none */
	void *direct_arg;
	bool unread;            /* table `unread` has chunks */
	bool followed;          /* by a live reader: chunks that it has not read are not deleted */
	int64_t last;           /* ns */
	struct direct *directs; /* functions of providers that were called */
	size_t ndirects;
};

/* writer_base.c: @text, or what is written instead, valid until the next call. */
const char *writer_redacted(struct writer *writer, enum writer_text kind, const char *text);

/* alarms.c: @call has returned; a post; a poll whose length was checked. */
void alarms_call(struct writer *writer, const struct thread_log *log, const struct pending *call,
		 const struct event_return *event, int64_t time);
void alarms_post(struct writer *writer, const struct thread_log *log,
		 const struct event_post *event, uint64_t n, int64_t time);
void alarms_poll(struct writer *writer, const struct thread_log *log, const struct event_poll *poll,
		 uint64_t n, int64_t time);

/* An asynchronous event of @type, which may be NULL, was read by @call. */
void alarms_event(struct writer *writer, const struct thread_log *log, const struct pending *call,
		  const char *type, int64_t time);

/* @process was killed by @signal; 0: not known. */
void alarms_crash(struct writer *writer, uint32_t process, int signal, int64_t time);

/* writer_base.c: a statement of the list; NULL, after log_err(): it cannot be prepared. */
sqlite3_stmt *writer_statement(struct writer *writer, enum statement which);

/* Run a statement of the list: sql_run(), and store a failure. */
#define WRITER_RUN(writer, name, ...) \
	writer_fail(writer, sql_run(writer_statement(writer, STATEMENT_##name), __VA_ARGS__))

/*
 * cut.c: a live reader follows the trace; has read a chunk; has ended.
 */
int writer_follow(struct writer *writer);
int writer_followed(struct writer *writer, uint32_t thread, uint64_t first_n);
void writer_unfollow(struct writer *writer);

/*
 * One event of a post, which may have several: number and time of the post's first event, and so
 * on.
 */
struct cut_part {
	uint64_t n;
	int64_t time;
	uint32_t first, stack;
};

/* forget.c: begin; the effect of a cut now; delete events before writer->due. 0 or -errno. */
int forget_init(struct writer *writer, bool cuts);
int forget_note(struct writer *writer, struct control_cut *ret_cut);
int forget_cut(struct writer *writer, const struct control_cut *cut);
int forget_past(struct writer *writer);
void forget_fini(struct writer *writer);
/* forget_rows.c: delete threads, processes and other rows that no remaining event needs. */
int forget_rows_init(struct writer *writer);
int forget_rows(struct writer *writer);

/* cut_carry.c: does the thread have requests from before the cut that the trace must have? */
bool cuts_have_thread(const struct writer *writer, uint32_t thread);
/* Call @mark with the stacks of these requests. */
void cuts_mark_stacks(const struct writer *writer, void (*mark)(void *arg, uint32_t stack),
		      void *arg);

/* Track events for cuts, unless writer->outstanding is NULL. Return 0 or the writer's failure. */
int cuts_post(struct writer *writer, struct thread_log *log, const struct event_post *event,
	      const struct cut_part *part);
int cuts_poll(struct writer *writer, struct thread_log *log, const struct event_poll *event,
	      uint64_t n, int64_t time, uint32_t stack);
int cuts_notify(struct writer *writer, struct thread_log *log, const struct event_notify *event,
		uint64_t n, int64_t time);
/* Note a control verb that has succeeded; @out: its outputs, as JSON. */
int cuts_call(struct writer *writer, const struct thread_log *log, const struct pending *call,
	      const char *out, int64_t time);
void cut_control_fini(struct control_cut *cut);
/* cut.c: put carried events into the tables; remove them, if a live reader would read them. */
int cuts_show(struct writer *writer);
int cuts_hide(struct writer *writer);
void cuts_fini(struct writer *writer);

/* Table `meta` of a new trace: what is recorded, on which machine, and by whom. 0 or -errno. */
int writer_describe_run(struct writer *writer, const struct writer_info *info);

/* Store all events so far in their tables. 0 or the writer's failure. */
int writer_store(struct writer *writer);

void writer_free(struct writer *writer);

/*
 * writer_base.c: store @err as the failure that stopped the writer, unless it is 0 or not the
 * first.
 */
int writer_fail(struct writer *writer, int err);

/* Note in table `coverage` that something could not be observed or read. */
int writer_cover(struct writer *writer, const struct thread_log *log, uint64_t n, int64_t time,
		 const char *what, uint64_t handle, const char *detail);

/* Is @time possible for an event? */
bool writer_is_timely(struct writer *writer, int64_t time);
/* The time of @ticks; @otherwise if that is impossible: the program's ticks are not trusted. */
int64_t writer_time(struct writer *writer, uint64_t ticks, int64_t otherwise);

/* Count events of the thread that are not in the trace any more. */
void writer_count_over(struct writer *writer, struct thread_log *log, uint64_t events,
		       int64_t begin, int64_t end);
/* Update the row of table `loss` of the thread; and the row without a thread. */
int writer_loss(struct writer *writer, struct thread_log *log);
int writer_store_gone(struct writer *writer);

/* Why data written to the file would be lost; NULL: it would not. */
const char *writer_find_damage(const struct writer *writer);
/* Is the trace still at its place, and not truncated? 0 or the writer's failure. */
int writer_check_file(struct writer *writer);

/*
 * thread_log.c: number of events of all threads that are not in the tables, since their posts are
 * incomplete
 */
uint64_t thread_logs_open(const struct writer *writer);

/* thread_log.c: write the batch as a chunk; write everything that is not in the tables yet. */
int thread_log_flush(struct writer *writer, struct thread_log *log);
int thread_log_store(struct writer *writer, struct thread_log *log);
int thread_log_note_wait(struct writer *writer, struct thread_log *log,
			 const struct event_waited *event, uint64_t n, int64_t time);
void thread_log_free(struct thread_log *log);

/* calls.c; @n and @time are the event's. All return 0, -EBADMSG or the writer's failure. */
int calls_begin(struct writer *writer, struct thread_log *log, const struct event_call *event,
		uint64_t n, int64_t time);
int calls_end(struct writer *writer, struct thread_log *log, const struct event_return *event,
	      uint64_t n, int64_t time);
/* Store the calls that have not returned yet, and those that are not in a block of the trace. */
int calls_flush(struct writer *writer, struct thread_log *log);
/* The next block begins: the trace may be cut here. */
void calls_cut(struct thread_log *log);
/* Store a call as a row of `call`, with rows of `ref`. */
int calls_put_row(struct writer *writer, uint32_t thread, const struct call_row *row);
/* calls_fini(): the thread is forgotten. calls_end_all(): the writer ends. */
void calls_fini(struct thread_log *log);
void calls_end_all(struct writer *writer);

/* direct.c: add a call of a provider's own function; update all rows. */
int direct_add_call(struct writer *writer, struct thread_log *log, const struct event_direct *event,
		    uint64_t n, int64_t time);
int direct_flush(struct writer *writer);
/* The process is forgotten. */
void direct_forget(struct writer *writer, uint32_t process);

/* stacks.c: the number of a stack, 0 for none; @modules: the newest of its modules. */
int stacks_number(struct writer *writer, uint32_t process, uint32_t modules, const uint64_t *frames,
		  uint32_t nframes, uint32_t *ret_stack);
/*
 * The thread has posted from a new site: note its stack. stacks_note_use() and stacks_of_site():
 * the number of a stack, of a site's stack.
 */
int stacks_site(struct writer *writer, struct thread_log *log, const struct event_site *event);
uint32_t stacks_note_use(struct writer *writer, struct known_stack *stack);
static inline uint32_t stacks_of_site(struct writer *writer, const struct thread_log *log,
				      uint16_t site)
{
	struct known_stack *stack = site < log->nsites ? log->sites[site] : NULL;

	return stack ? stacks_note_use(writer, stack) : 0;
}
/* The thread has ended. */
void stacks_free_sites(struct thread_log *log);
/* Forget stacks that no event at @time or later uses, except needed ones. 0 or -errno. */
int stacks_forget(struct writer *writer, int64_t time);
/* Does a stored stack that is older than @module's successor have a frame in @module? */
bool stacks_have_module(const struct writer *writer, const struct old_module *module);
void stacks_fini(struct writer *writer);

/* polls.c: count a poll; *@ret_empty: empty polls since the last recorded one. */
int polls_count_event(struct writer *writer, struct thread_log *log, const struct event_poll *event,
		      int64_t time, uint64_t *ret_empty);
/* Store the final value of a counter, when its CQ was destroyed. */
int polls_destroyed(struct writer *writer, const struct event_count *event, size_t bytes);
/* Add the counters of the new thread @log that arrived before it. */
int polls_adopt(struct writer *writer, struct thread_log *log);
/* Add the counters in a ring's head when its thread ends. */
int polls_store_final(struct writer *writer, struct thread_log *log, const struct ring_head *head);
/* The log of the thread with a ring; NULL: it was not read yet. */
struct thread_log *polls_find_log(struct writer *writer, uint32_t ring, uint32_t tid);
int polls_flush(struct writer *writer, struct thread_log *log);
/* Forget the counters of CQs that were destroyed before @time. */
void polls_forget(struct thread_log *log, int64_t time);
/* The previous trace has all polls counted so far, too. */
void polls_carry(struct thread_log *log);

/*
 * payloads_write.c: add a piece, or a post that may have payloads; write complete payloads as a
 * chunk; note what is missing.
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
static inline struct known_process *processes_find(const struct writer *writer, uint32_t id)
{
	return id && id <= writer->nprocesses ? writer->processes[id - 1] : NULL;
}
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
