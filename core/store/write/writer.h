#pragma once
/*
 * Writing a trace: takes the events of rings and makes an SQLite file.
 *
 * Events and heads must be in the caller's memory, not shared with the program:
 * they are not trusted, and must not change after they are checked.
 *
 * One thread. After a failure (mostly a full disk) the writer takes no more
 * events, and what was committed before stays readable; writer_finish() may still
 * be tried and then completes that.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/db/ids.h"
#include "core/wire/clock.h"
#include "core/wire/payload.h"

struct event_head;     /* core/wire/event.h */
struct ring_head;      /* core/wire/ring.h */
struct stored_finding; /* core/store/db/finding.h */
struct writer;

struct writer_info {
	const struct clock *clock;
	const char *command;         /* what was recorded, as one line */
	const char *device;          /* "soft", or the name asked for, or "" */
	const char *filter;          /* the filter as given; NULL or "": everything was recorded */
	uint32_t one_of;             /* one of so many data verbs was recorded; 0 or 1: all */
	struct payload_rule payload; /* what is captured of payloads */
	const char *copies_on_fork;  /* "yes", "no": the kernel copies registered pages; NULL, "" */
	bool memory;                 /* what becomes of registered memory is recorded */
	bool waits;                  /* how long the recorder made threads wait is, too */
	bool strict;                 /* more was checked on the data path */
	bool live;                   /* events arrive as they are made */
	bool cuts;                   /* it will be cut: writer_cut() */
	uint64_t most;               /* bytes that it is to have; 0: any number */
	bool elsewhere;              /* the clock is another machine's: any time is possible */
};

/*
 * Make a new trace at @path (0600). A trace of ours that is there already is set aside, and
 * replaced when the new one has events; anything else in the way (another file, a link, another
 * user's) is refused: -EEXIST, -ELOOP, -EACCES. Returns 0 or -errno after log_err().
 */
int writer_create(const char *path, const struct writer_info *info, struct writer **ret_writer);

/* Set what was not known when the trace was made; NULL: no change. */
int writer_describe(struct writer *writer, const char *command, const char *device);

/* A new ring: its thread, and its process if that is new, too. Returns 0 or -errno. */
int writer_thread(struct writer *writer, const struct ring_head *head, uint32_t *ret_thread);

/*
 * One event of @thread; @event is whole (ring_peek() has checked it) but its body
 * is not trusted. Returns 0; -EBADMSG, and the event is counted as damaged; or
 * another -errno after log_err().
 */
int writer_event(struct writer *writer, uint32_t thread, const struct event_head *event);

/*
 * EVENT_THREAD: @thread has ended, and the ring whose head is @head goes on as
 * another thread's. Returns 0, -EBADMSG or another -errno, as above.
 */
int writer_next_thread(struct writer *writer, uint32_t *thread, const struct ring_head *head,
		       const struct event_head *event);

/*
 * The next @events of @thread, @bytes of its ring, cannot be read: counted as
 * damaged, and noted in `coverage`.
 */
int writer_damage(struct writer *writer, uint32_t thread, uint64_t bytes, uint64_t events);

/*
 * The first @events of @thread are unavailable: they count as lost, and as `late` in table
 * `coverage`. To be called before the first event of the thread.
 */
int writer_began_late(struct writer *writer, uint32_t thread, uint64_t events);

/* Note that @threads threads could not make a ring: the trace has only their number. */
int writer_ringless(struct writer *writer, uint32_t threads);

/* What threads did not get, to limit the load on their program. Values but 0 go into `meta`. */
struct writer_withheld {
	uint32_t rings;   /* rings that could not grow */
	uint32_t threads; /* threads without a ring; also counted as ringless */
	uint64_t budget;  /* bytes: the smallest budget that caused this */
	uint32_t waits;   /* waits for a stalled recorder that were given up */
};

int writer_withheld(struct writer *writer, const struct writer_withheld *withheld);

/* Processes that start after @time cannot join the recording: noted in `coverage`. */
int writer_session_gone(struct writer *writer, int64_t time);

/* Note that @events events of unknown threads were lost before they got here: table `loss`. */
int writer_discarded(struct writer *writer, uint64_t events);

/* The thread has ended or sends no more: take its last poll counters and its losses. */
int writer_thread_end(struct writer *writer, uint32_t thread, const struct ring_head *head);

/* The process has ended. @status as from waitpid(), -1 if not known. */
int writer_process_end(struct writer *writer, int pid, int64_t time, int status);

/* Commit all events so far: they survive if we are killed. */
int writer_flush(struct writer *writer);

/*
 * Put all events so far into the tables, without a commit, for trace_follow().
 */
int writer_settle(struct writer *writer);

/* Time of the last event of @thread, ns; no later one is before it. INT64_MIN: none yet. */
int64_t writer_read_to(const struct writer *writer, uint32_t thread);

/* A finding of a check: a row of table `finding`. 0 or -errno. */
int writer_finding(struct writer *writer, const struct stored_finding *finding);

/* Its connection, borrowed. */
struct sqlite3 *writer_db(struct writer *writer);

/* After a failure only what was committed counts as written, the other events as lost. */
struct writer_progress {
	uint64_t events, lost, bytes; /* bytes: of the file so far, about */
	uint64_t overwritten;
	bool before; /* nothing is written: writer_finish() puts back the trace of before */
};
/* The failure that stopped the writer, 0 if there was none. */
int writer_error(const struct writer *writer);

struct writer_progress writer_progress(const struct writer *writer);

/* Counts of failures for which a user may want to keep the events that led to them. */
struct writer_alarms {
	uint64_t errors;  /* failed completions, but for flushed ones */
	uint64_t fatal;   /* fatal asynchronous events */
	uint64_t crashes; /* processes that a signal ended */
};
struct writer_alarms writer_alarms(const struct writer *writer);

/* Note what @thread has lost so far, while it runs; @head as for writer_thread_end(). */
int writer_thread_lost(struct writer *writer, uint32_t thread, const struct ring_head *head);

/*
 * The trace may begin here: all events until now are before the cut, whose time is @time, and
 * later ones behind it. Where a thread is within a post, it is not cuttable: the post may be
 * on the wrong side. Returns 0 or -errno.
 */
int writer_cut(struct writer *writer, int64_t time);
bool writer_is_cuttable(const struct writer *writer, int64_t time);

/*
 * Bytes that the file would have if it were finished now, about: with indexes and objects, rows
 * take three eighths more.
 */
uint64_t writer_size(struct writer *writer);

/* Have so many events come since it was asked last that it may be time for a cut? */
bool writer_has_more(struct writer *writer);

/* Bytes by which it has grown since the last cut. */
uint64_t writer_uncut(struct writer *writer);

/*
 * As long as writer_size() is more than @keep: delete what is before the oldest cut, but not what
 * the rest needs. Of the control plane that waits for the live reader. 0 or -errno.
 */
int writer_forget(struct writer *writer, uint64_t keep);

/*
 * The live reader has read all events before @time; and the time up to which it is to read so that
 * they can be deleted: INT64_MIN if nothing waits for it.
 */
void writer_read_until(struct writer *writer, int64_t time);
int64_t writer_awaits_reader(const struct writer *writer);

/* What must stay of the time before a cut: objects that are alive, and calls for them. */
struct writer_needs {
	size_t objects, calls;
};

/* False where the trace is not cut, or where something waits for the live reader. */
bool writer_needs(const struct writer *writer, struct writer_needs *ret_needs);

/*
 * Note in table `carried` that everything in the trace so far is also in the trace
 * before it; findings of that one are not repeated. Returns 0 or -errno.
 */
int writer_carry(struct writer *writer);

/*
 * Write all that is kept as a complete trace to @path, with @why in its meta; an
 * existing @path is treated as by writer_create(). Returns 0 or -errno after
 * log_err(); a failure of the copy alone does not stop the writer.
 */
int writer_snapshot(struct writer *writer, const char *path, const char *why);

/*
 * No more events come: commit what has come, unless @why, a -errno, says that the trace ends too
 * early; then, as after a failure, it is an interrupted one, and the events that are not committed
 * are counted in it. Returns 0 or the writer's -errno; writer_progress() is exact from then on.
 */
int writer_stop(struct writer *writer, int why);

/*
 * Stop it, if it goes on, and complete the trace: objects, references, devices, indexes; one file,
 * marked as whole. Without events, or if a trace that is not live fails, the one that was there
 * before is put back. Frees the writer whatever happens. Returns 0 or -errno after log_err().
 */
int writer_finish(struct writer *writer);

/* Is a trace that was there before set aside? It is put back where nothing is in the new one. */
bool writer_has_before(const struct writer *writer);

/* Remove the trace at @path as if it had never been begun. Frees the writer. */
void writer_drop(struct writer *writer, const char *path);
