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
	size_t path; /* offset in the call's `paths` */
	enum object_kind kind;
	uint64_t handle;
};

/* A control verb that has begun. */
struct call_in_progress {
	uint64_t n;
	int64_t begin;
	enum verb verb;
	unsigned int depth;
	bool ours;
	bool stored; /* its row is already in `call`, without an end */
	bool done;   /* the call has returned: the fields from `end` on are valid */
	uint32_t stack;
	uint64_t handle;  /* of the object that it uses; 0: unknown */
	char *args, *out; /* JSON */
	/* of the ibv_async_event that the call got or acknowledged */
	uint64_t async_type, async_element;
	uint64_t got;                 /* ibv_get_cq_event(): the CQ of the event */
	enum object_kind parent_kind; /* kind of `parent` */
	uint64_t parent;              /* the first handle among its arguments; 0: none */
	struct pending_ref *refs;     /* references that are not in the trace yet */
	size_t nrefs;
	struct text paths;
	int64_t end, ret, error;
	uint64_t end_n;
};

/* Polls of one CQ by one thread. */
struct poll_counter {
	uint64_t cq;
	uint32_t life; /* number of earlier CQs with this address */
	bool dirty;    /* differs from its row in the table */
	bool dead;     /* the CQ was destroyed, at @died: later polls are in the next life */
	uint64_t died; /* ticks */
	uint64_t polls, completions;
	uint64_t empty;   /* empty polls in this life, as far as known */
	uint64_t seen;    /* value of the thread's counter in its last event */
	uint64_t carried; /* part of `empty` that the previous trace already counted */
	int64_t last;     /* ns: time of the last poll */
};

/* A thread of the traced program. */
struct thread_log {
	uint32_t id, process;
	uint32_t ring; /* number of the ring in the session */
	uint32_t tid;
	int pid;
	uint64_t n;       /* number of the last event */
	uint64_t settled; /* all events up to this number are in the tables */
	/* of the events up to this number, the tables have only needed ones: forget.c */
	uint64_t past;
	/* the live reader has not read the chunks that begin after this event */
	uint64_t followed;
	uint32_t base;       /* seq of the last event before this thread's: rings are reused */
	int64_t start, last; /* ns */
	int64_t gone;        /* when the thread ended; 0: not known */
	bool ended;
	struct batch *batch; /* NULL after the thread has ended */
	struct payloads payloads;
	struct call_in_progress *pending; /* innermost last */
	size_t npending, pending_size;
	struct call_batch *calls; /* calls that repeat; NULL: none yet */
	uint32_t calls_stored;    /* number of calls of @calls that are in the trace */
	uint32_t calls_new;       /* number of calls that the last commit added to the trace */
	struct poll_counter *counters;
	size_t ncounters, counter;     /* counter: index of the one found last */
	uint64_t lost;                 /* number of events that did not fit into the ring */
	int64_t lost_first, lost_last; /* ns */
	struct {
		uint64_t events;
		int64_t first, last; /* ns */
	} over;                      /* events that were overwritten: cut.c */
	struct known_stack **sites;  /* by site number; NULL: not known */
	uint32_t nsites;
	uint32_t fork_seq; /* fork_seq of the last EVENT_FORK, and the number of this event */
	uint64_t fork_n;
	uint64_t first_ticks; /* ticks of the first event that was read */
	uint64_t missed;      /* number of events before the first one that was read */
	uint64_t damaged;     /* events that cannot be read */
	uint32_t damage_rows;
	int64_t damage_row;    /* rowid of the last row in `coverage` */
	uint64_t damage_times; /* number of events that this row counts */
};

struct known_process {
	uint32_t id;
	int pid;
	bool described;     /* its EVENT_PROCESS was read */
	bool over;          /* it has ended, and all its events have arrived */
	bool left;          /* no other process still has the objects of this one */
	int64_t over_at;    /* when it ended */
	uint32_t parent;    /* the process from which it was forked; 0: none, or not known */
	uint32_t fork_seq;  /* number of that fork in the parent */
	uint32_t logs;      /* number of its threads in the trace */
	uint32_t children;  /* number of processes in the trace that it forked */
	const char *ending; /* 'exit', '_exit', 'exec': the announced end; or NULL */
	int status;         /* of 'exit' and '_exit': status as from waitpid() */
	int64_t ends;       /* of 'exec': when it was announced */
};

/* A stack that has a number in the trace. */
struct known_stack {
	uint64_t hash;
	uint32_t id, process;
	uint32_t modules; /* highest serial of its frames' modules */
	uint32_t nframes;
	uint32_t sites; /* number of sites of running threads that need it in memory */
	bool stored;    /* its rows are in the trace */
	bool marked;    /* stacks_forget(): an event uses it */
	int64_t used;   /* time of the last event that has it */
	uint64_t *frames;
};

/* An object file whose address range was later mapped by another file. */
struct old_module {
	int64_t id;
	uint32_t process, serial; /* serial: of the file that replaced it */
	uint64_t start, end;
};

/* The effect of a cut on the control plane: forget.c */
struct control_cut {
	int64_t time;
	/* no remaining event refers to objects that were destroyed before this time */
	int64_t limit;
	uint64_t derived; /* growth of writer->derived since the previous cut */
	uint32_t nlogs;
	struct event_id *ends; /* by thread: the last event of each thread that had not ended */
	size_t nends;
	struct event_id *open; /* calls that had not returned at the cut */
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
	S(past_forks, "DELETE FROM fork " PAST " AND NOT has_child(process, fork_seq)") \
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
	int64_t horizon; /* times up to this one are known to be valid */
	bool live;
	int err; /* the failure that stopped the writer */
	bool stopped;
	bool before;     /* a previous trace is set aside */
	int file;        /* O_PATH descriptor of the trace file, also if it was renamed; -1: none */
	int64_t longest; /* largest size of the file so far */
	struct thread_log **logs;
	size_t nlogs, logs_size;
	struct known_process **processes; /* by id - 1; NULL: deleted from the trace */
	size_t nprocesses;
	struct known_stack **stacks; /* open addressing; the size is a power of two */
	size_t nstacks, stacks_size;
	uint32_t stack_ids; /* the last id used */
	struct packer packer;
	struct text args, out;
	uint32_t calls_plain; /* number of calls of each shape that become rows */
	/* by hash: number of calls of that shape so far, up to calls_plain */
	struct map shapes;
	struct call_shape shape; /* shape and references of the call that is being stored */
	struct ref_row *refs;
	size_t refs_size;
	struct shapes_packer calls;
	struct event_count *counts; /* counts of threads that are not known yet */
	size_t ncounts;
	uint64_t events, lost, damaged;
	uint64_t committed; /* part of @events that is committed: it survives a kill */
	uint64_t commits;
	void (*before_commit)(void *arg); /* set by writer_on_commit(); NULL: none */
	void *commit_arg;
	/* pages of the write-ahead log; counted only with before_commit */
	int log_pages;
	uint64_t chunk_bytes;            /* bytes of chunks since the last commit */
	uint64_t kept;                   /* bytes of all chunks in the trace */
	uint64_t kept_to_cut;            /* part of @kept that is before the last cut */
	uint64_t made;                   /* number of objects that calls in blocks have created */
	uint64_t derived;                /* bytes of rows that completing the trace will add */
	uint64_t derived_to_cut;         /* part of @derived that is before the last cut */
	uint64_t overwritten;            /* number of overwritten events */
	uint64_t committed_overwritten;  /* number of these events whose deletion is committed */
	struct outstanding *outstanding; /* NULL: no cuts; the data plane may begin at any event */
	/* cuts whose earlier events are not deleted yet, oldest first */
	struct cut *cuts;
	size_t ncuts;
	struct needed *needed; /* NULL: the control plane is stored completely */
	uint64_t most;         /* limit of the file size in bytes; 0: none */
	int64_t time;          /* time of the current event */
	uint64_t size, grown;  /* bytes in use at the last measurement; growth of them so far */
	uint64_t grown_to_cut; /* the growth at the last cut */
	uint64_t looked_at; /* number of events at the last measurement of writer_may_need_cut() */
	uint64_t looked_kept;  /* size of chunks at that time */
	int64_t last_cut;      /* time of the last cut, ns */
	uint64_t calls_at_cut; /* that were in memory after the last cut */
	/* deletes the events before it when the live reader allows; time INT64_MIN: none */
	struct control_cut due;
	int64_t read_to;       /* the live reader has read events before this time */
	struct map open;       /* calls that had not returned at the cut, by thread and n */
	struct event_id *late; /* the same calls as a list */
	size_t nlate;
	struct old_module *old_modules;
	size_t nold_modules;
	struct {
		uint64_t lost, over; /* events of threads that were deleted */
		int64_t first, last;
		uint64_t threads, processes, stacks; /* number of deleted rows */
	} gone;
	uint64_t discarded;
	/* the cut at which the trace begins; NULL: the trace is whole */
	struct cut *base;
	/* ids of the carried chunks of @base; 0: they are not in the table */
	int64_t base_first, base_last;
	struct writer_redact redact;
	struct text redacted; /* result of writer_redact_text() */
	bool passwords;       /* passwords in command lines are not masked */
	struct writer_alarms alarms;
	void (*on_alarm)(void *arg, const struct writer_alarm *alarm); /* NULL: none */
	void *alarm_arg;
	void (*on_direct)(void *arg, const char *function, uint32_t process); /* NULL: none */
	void *direct_arg;
	bool unread; /* table `unread` of the connection has chunks */
	/* a live reader follows: chunks that it has not read are not deleted */
	bool followed;
	int64_t last;                /* ns: time of the last event */
	struct direct_call *directs; /* functions of providers that were called */
	size_t ndirects;
};

/* writer_base.c: @text or its replacement, valid until the next call. */
const char *writer_redact_text(struct writer *writer, enum writer_text kind, const char *text);

/*
 * alarms.c: count the failures of @call, which has returned; of a post; of a poll, whose length was
 * checked.
 */
void alarms_note_call(struct writer *writer, const struct thread_log *log,
		      const struct call_in_progress *call, const struct event_return *event,
		      int64_t time);
void alarms_note_post(struct writer *writer, const struct thread_log *log,
		      const struct event_post *event, uint64_t n, int64_t time);
void alarms_note_poll(struct writer *writer, const struct thread_log *log,
		      const struct event_poll *poll, uint64_t n, int64_t time);

/* @call has read an asynchronous event of @type, which may be NULL. */
void alarms_note_event(struct writer *writer, const struct thread_log *log,
		       const struct call_in_progress *call, const char *type, int64_t time);

/* @signal has killed @process; 0: not known which signal. */
void alarms_note_crash(struct writer *writer, uint32_t process, int signal, int64_t time);

/* writer_base.c: a statement of the list; NULL, after log_err(), if it cannot be prepared. */
sqlite3_stmt *writer_statement(struct writer *writer, enum statement which);

/* Run a statement of the list by sql_run(), and store a failure. */
#define WRITER_RUN(writer, name, ...) \
	writer_fail(writer, sql_run(writer_statement(writer, STATEMENT_##name), __VA_ARGS__))

/* cut.c: a live reader begins to follow the trace; it has read a chunk; it ends. */
int writer_follow(struct writer *writer);
int writer_note_followed(struct writer *writer, uint32_t thread, uint64_t first_n);
void writer_unfollow(struct writer *writer);

/*
 * One event of a post that may have several: number and time of the post's first event, index of
 * this event's first request, stack.
 */
struct cut_part {
	uint64_t n;
	int64_t time;
	uint32_t first, stack;
};

/*
 * forget.c: initialize; note the effect of a cut now; delete the events before writer->due. 0 or
 * -errno.
 */
int forget_init(struct writer *writer, bool cuts);
int forget_note_cut(struct writer *writer, struct control_cut *ret_cut);
int forget_before_cut(struct writer *writer, const struct control_cut *cut);
int forget_past(struct writer *writer);
void forget_fini(struct writer *writer);
/* forget_rows.c: delete threads, processes and other rows that no remaining event needs. */
int forget_rows_init(struct writer *writer);
int forget_rows(struct writer *writer);

/* cut_carry.c: does the trace need requests of the thread from before the cut? */
bool cut_has_thread(const struct writer *writer, uint32_t thread);
/* Call @mark with the stack of each of these requests. */
void cut_mark_stacks(const struct writer *writer, void (*mark)(void *arg, uint32_t stack),
		     void *arg);

/* Track events for cuts, unless writer->outstanding is NULL. Return 0 or the writer's failure. */
int writer_note_outstanding_post(struct writer *writer, struct thread_log *log,
				 const struct event_post *event, const struct cut_part *part);
int writer_note_outstanding_poll(struct writer *writer, struct thread_log *log,
				 const struct event_poll *event, uint64_t n, int64_t time,
				 uint32_t stack);
int writer_note_outstanding_arming(struct writer *writer, struct thread_log *log,
				   const struct event_notify *event, uint64_t n, int64_t time);
/* Note a control verb that has succeeded; @out: its outputs as JSON. */
int writer_note_outstanding_call(struct writer *writer, const struct thread_log *log,
				 const struct call_in_progress *call, const char *out,
				 int64_t time);
void cut_control_fini(struct control_cut *cut);
/* cut.c: put carried events into the tables; remove them if a live reader would read them again. */
int writer_insert_carried(struct writer *writer);
int writer_delete_carried(struct writer *writer);
void writer_free_cuts(struct writer *writer);

/* Table `meta` of a new trace: what is recorded, on which machine, and by whom. 0 or -errno. */
int writer_describe_run(struct writer *writer, const struct writer_info *info);

/* Store all events so far in their tables. 0 or the writer's failure. */
int writer_store(struct writer *writer);

void writer_free(struct writer *writer);

/*
 * writer_base.c: store @err as the failure that stopped the writer, unless @err is 0 or it has
 * failed already. Returns the failure.
 */
int writer_fail(struct writer *writer, int err);

/* Note in table `coverage` that something could not be observed or read. */
int writer_cover(struct writer *writer, const struct thread_log *log, uint64_t n, int64_t time,
		 const char *what, uint64_t handle, const char *detail);

/* Is @time possible for an event? */
bool writer_is_timely(struct writer *writer, int64_t time);
/*
 * Convert @ticks to ns; @otherwise if that time is impossible: the program's ticks are not trusted.
 */
int64_t writer_time(struct writer *writer, uint64_t ticks, int64_t otherwise);

/* Count events of the thread that were deleted from the trace. */
void writer_count_over(struct writer *writer, struct thread_log *log, uint64_t events,
		       int64_t begin, int64_t end);
/* Update the thread's row of table `loss`. writer_store_gone(): the row without a thread. */
int writer_store_loss(struct writer *writer, struct thread_log *log);
int writer_store_gone(struct writer *writer);

/* The reason why data written to the file would be lost; NULL: it is not lost. */
const char *writer_find_damage(const struct writer *writer);
/* Check that the trace file still has a name and was not truncated. 0 or the writer's failure. */
int writer_check_file(struct writer *writer);

/*
 * thread_log.c: number of events of all threads that are not in the tables, since the last event of
 * their post is missing
 */
uint64_t thread_logs_open(const struct writer *writer);

/* thread_log.c: write the batch as a chunk; write everything that is not in the tables yet. */
int thread_log_flush(struct writer *writer, struct thread_log *log);
int thread_log_store(struct writer *writer, struct thread_log *log);
int thread_log_note_wait(struct writer *writer, struct thread_log *log,
			 const struct event_waited *event, uint64_t n, int64_t time);
void thread_log_free(struct thread_log *log);

/*
 * calls.c; @n and @time: number and time of the event. All return 0, -EBADMSG or the writer's
 * failure.
 */
int calls_note_begin(struct writer *writer, struct thread_log *log, const struct event_call *event,
		     uint64_t n, int64_t time);
int calls_note_end(struct writer *writer, struct thread_log *log, const struct event_return *event,
		   uint64_t n, int64_t time);
/* Store the calls that have not returned yet, and those that are in no block of the trace yet. */
int calls_flush(struct writer *writer, struct thread_log *log);
/* The next call begins a new block, so that the trace can be cut before it. */
void calls_cut(struct thread_log *log);
/* Store a call as a row of `call`, with rows of `ref`. */
int calls_put_row(struct writer *writer, uint32_t thread, const struct call_row *row);
/* Free calls: calls_fini() when a thread is deleted, calls_free_all() when the writer ends. */
void calls_fini(struct thread_log *log);
void calls_free_all(struct writer *writer);

/* direct.c: add a call of a provider's own function; update all rows. */
int direct_add_call(struct writer *writer, struct thread_log *log, const struct event_direct *event,
		    uint64_t n, int64_t time);
int direct_flush(struct writer *writer);
/* The process was deleted from the trace: forget its calls. */
void direct_forget(struct writer *writer, uint32_t process);

/* stacks.c: the number of a stack, 0 for none; @modules: the newest of its modules. */
int stacks_find_or_add(struct writer *writer, uint32_t process, uint32_t modules,
		       const uint64_t *frames, uint32_t nframes, uint32_t *ret_stack);
/*
 * stacks_note_site(): the thread has posted from a new site: note its stack. The others return the
 * number of a stack, or of the stack of a site.
 */
int stacks_note_site(struct writer *writer, struct thread_log *log, const struct event_site *event);
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
/* Does a stored stack have a frame in @module, from before the later file was mapped? */
bool stacks_have_module(const struct writer *writer, const struct old_module *module);
void stacks_fini(struct writer *writer);

/* polls.c: count a poll; *@ret_empty: empty polls since the last recorded one. */
int polls_count_event(struct writer *writer, struct thread_log *log, const struct event_poll *event,
		      int64_t time, uint64_t *ret_empty);
/* Store the final value of a counter: its CQ was destroyed. */
int polls_note_destroyed(struct writer *writer, const struct event_count *event, size_t bytes);
/* Add the counters that arrived before the first event of their thread, @log. */
int polls_adopt(struct writer *writer, struct thread_log *log);
/* Add the counters from the head of a ring whose thread has ended. */
int polls_store_final(struct writer *writer, struct thread_log *log, const struct ring_head *head);
/* The log of thread @tid with that ring; NULL: the ring was not read yet. */
struct thread_log *polls_find_log(struct writer *writer, uint32_t ring, uint32_t tid);
int polls_flush(struct writer *writer, struct thread_log *log);
/* Forget the counters of CQs that were destroyed before @time. */
void polls_forget(struct thread_log *log, int64_t time);
/* The previous trace also has all polls that were counted so far. */
void polls_carry(struct thread_log *log);

/*
 * payloads_write.c: add a piece, or a post that may have payloads; write complete payloads as a
 * chunk; note missing payloads in table `coverage`.
 */
int payloads_process_event(struct writer *writer, struct thread_log *log,
			   const struct event_head *event, uint64_t n, int64_t time);
int payloads_flush(struct writer *writer, struct thread_log *log);
int payloads_note_missing(struct writer *writer, struct thread_log *log);

/* misuse.c */
int writer_note_misuse(struct writer *writer, struct thread_log *log,
		       const struct event_misuse *event, uint64_t n, int64_t time);

/* processes.c */
int processes_new(struct writer *writer, int pid, int64_t start, uint32_t *ret_process);
struct known_process *processes_of_pid(struct writer *writer, int pid);
static inline struct known_process *processes_find(const struct writer *writer, uint32_t id)
{
	return id && id <= writer->nprocesses ? writer->processes[id - 1] : NULL;
}
int processes_note_process(struct writer *writer, struct thread_log *log,
			   const struct event_process *event, uint64_t n, int64_t time);
int processes_note_module(struct writer *writer, struct thread_log *log,
			  const struct event_module *event, int64_t time);
int processes_note_fork(struct writer *writer, struct thread_log *log,
			const struct event_fork *event, uint64_t n, int64_t time);
int processes_note_spawned(struct writer *writer, struct thread_log *log,
			   const struct event_spawned *event);
int processes_note_memory(struct writer *writer, struct thread_log *log,
			  const struct event_memory *event, uint64_t n, int64_t time);
int processes_note_exit(struct writer *writer, struct thread_log *log,
			const struct event_exit *event, int64_t time);
/* The process is dead. @status: as from waitpid(); -1: not known. */
int processes_end(struct writer *writer, struct known_process *process, int64_t time, int status);
