#pragma once
/*
 * Writing a trace: stores the events of rings in an SQLite file.
 *
 * Events and heads must be in the caller's memory, not shared with the program: they are not
 * trusted, and must not change after the writer has checked them.
 *
 * Not thread-safe. After a failure (usually a full disk) the writer accepts no more events, and
 * everything committed before stays readable; writer_finish() may still be called, and completes
 * the trace.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/db/file.h"
#include "core/store/db/ids.h"
#include "core/store/db/totals.h"
#include "core/wire/clock.h"
#include "core/wire/payload.h"

struct event_head;     /* core/wire/event.h */
struct ring_head;      /* core/wire/ring.h */
struct text;           /* core/base/text.h */
struct stored_finding; /* core/store/db/finding.h */
struct writer;

/* Kinds of texts that may identify somebody. */
enum writer_text {
	WRITER_COMMAND,   /* words separated by blanks */
	WRITER_PATH,      /* of a program or a library */
	WRITER_HOST,      /* the name of this machine */
	WRITER_VARIABLE,  /* the value of an environment variable */
	WRITER_ARGUMENTS, /* JSON arguments of a call that may name a host */
};

/*
 * Replaces texts before they are written: core/store/anonymise/redact.h. @replace appends the
 * replacement of @text to @to; it returns false if @text is to be written unchanged.
 */
struct writer_redact {
	bool (*replace)(void *arg, enum writer_text kind, const char *text, struct text *to);
	void *arg;
};

struct writer_info {
	const struct clock *clock;
	const char *command; /* the recorded command, as one line */
	const char *device;  /* "soft", or the device name that the user gave, or "" */
	/* the filter as the user gave it; NULL or "": everything was recorded */
	const char *filter;
	uint32_t one_of;             /* one in this many data verbs was recorded; 0 or 1: all */
	struct payload_rule payload; /* which payloads are captured */
	/* "yes", "no": does the kernel copy registered pages on fork? NULL, "": not known */
	const char *copies_on_fork;
	bool memory;   /* releases of registered memory are recorded */
	bool waits;    /* the waits of threads for the recorder are recorded */
	bool strict;   /* misuses of the data path are recorded */
	bool live;     /* events arrive while the program runs */
	bool cuts;     /* the trace will be cut: writer_cut() */
	uint64_t most; /* limit of the file's size in bytes; 0: none */
	/* the clock is another machine's: any time is possible */
	bool elsewhere;
	struct writer_redact redact; /* all zero: nothing is replaced */
	bool passwords;              /* passwords in command lines are not masked */
	/* number of calls of a shape that become rows; 0: the default */
	uint32_t calls_plain;
};

/*
 * Create a trace at @path with mode 0600. An existing trace is set aside, and replaced when the new
 * one has events; any other file at @path (also a link, or a file of another user) is refused:
 * -EEXIST, -ELOOP, -EACCES. Returns 0 or -errno after log_err().
 */
int writer_create(const char *path, const struct writer_info *info, struct writer **ret_writer);

/* Set fields that were not known when the trace was created; NULL: unchanged. */
int writer_describe(struct writer *writer, const char *command, const char *device);

/* Add the thread of a new ring, and its process if that is new, too. Returns 0 or -errno. */
int writer_begin_thread(struct writer *writer, const struct ring_head *head, uint32_t *ret_thread);

/*
 * Store an event of @thread; its length is valid (ring_peek() has checked it) but its body is not
 * trusted. Returns 0; -EBADMSG, and the event is counted as damaged; or another -errno after
 * log_err().
 */
int writer_add_event(struct writer *writer, uint32_t thread, const struct event_head *event);

/*
 * EVENT_THREAD: @thread has ended, and the ring with @head is used by another thread from now on.
 * Returns 0, -EBADMSG or another -errno, as above.
 */
int writer_next_thread(struct writer *writer, uint32_t *thread, const struct ring_head *head,
		       const struct event_head *event);

/*
 * The next @events of @thread, @bytes of its ring, cannot be read: count them as damaged, and note
 * them in `coverage`.
 */
int writer_note_damage(struct writer *writer, uint32_t thread, uint64_t bytes, uint64_t events);

/*
 * The first @events of @thread are unavailable: they count as lost, and as `late` in table
 * `coverage`. Call it before the first event of the thread.
 */
int writer_note_late_thread(struct writer *writer, uint32_t thread, uint64_t events);

/* Note that @threads threads could not create a ring: nothing else about them is in the trace. */
int writer_note_ringless(struct writer *writer, uint32_t threads);

/*
 * Resources that threads were denied, to limit the load on their program. Values other than 0 are
 * stored in `meta`.
 */
struct writer_note_withheld {
	uint32_t rings;   /* rings that could not grow */
	uint32_t threads; /* threads without a ring; also counted by writer_note_ringless() */
	uint64_t budget;  /* bytes: the smallest budget that caused this */
	uint32_t waits;   /* waits for a stalled recorder that timed out */
};

int writer_note_withheld(struct writer *writer, const struct writer_note_withheld *withheld);

/* Processes that start after @time cannot join the recording: noted in `coverage`. */
int writer_note_session_gone(struct writer *writer, int64_t time);

/*
 * Note in table `loss` that @events events of unknown threads were lost before the collector read
 * them.
 */
int writer_note_discarded(struct writer *writer, uint64_t events);

/* The thread has ended, or sends no more events: store its last poll counters and its losses. */
int writer_end_thread(struct writer *writer, uint32_t thread, const struct ring_head *head);

/* The process has ended. @status: as from waitpid(); -1: not known. */
int writer_end_process(struct writer *writer, int pid, int64_t time, int status);

/*
 * Call @before(@arg) before each commit, when all events are in the transaction. It may fork: when
 * the parent has died, the child may continue with the writer, and commits the same transaction
 * again.
 */
void writer_on_commit(struct writer *writer, void (*before)(void *arg), void *arg);

/* The number of commits so far. */
uint64_t writer_count_commits(const struct writer *writer);

/* Commit all events so far, so that they survive a kill of the recorder. */
int writer_flush(struct writer *writer);

/*
 * Put all events so far into the tables, without a commit, for trace_follow().
 */
int writer_store_logs(struct writer *writer);

/*
 * Time of the last event of @thread, ns; later events do not have an earlier time. INT64_MIN: no
 * event yet.
 */
int64_t writer_last_stored(const struct writer *writer, uint32_t thread);

/* Store a finding of a check: a row of table `finding`. 0 or -errno. */
int writer_store_finding(struct writer *writer, const struct stored_finding *finding);

/* A counter of a device, as it was when the trace began and now: a row of table `counter`. */
struct stored_counter {
	const char *device;
	uint32_t port;      /* 0: a counter of the whole device */
	const char *folder; /* "counters", "hw_counters" */
	const char *name;
	uint64_t first, last;
};

/* Replaces an earlier row of the same counter. 0 or -errno. */
int writer_store_counter(struct writer *writer, const struct stored_counter *counter);

/* The new value of a counter that has changed, at @time: a row of table `counter_sample`. */
struct stored_counter_sample {
	const char *device;
	uint32_t port;
	const char *folder, *name;
	int64_t time;
	uint64_t value;
};
int writer_store_counter_sample(struct writer *writer, const struct stored_counter_sample *sample);

/* What a thread did from @time on: a row of table `sample`. Texts may be NULL. */
struct stored_sample {
	uint32_t thread;
	int64_t time;
	const char *doing, *state, *wchan;
};

/* 0 or -errno. */
int writer_store_sample(struct writer *writer, const struct stored_sample *sample);

/* The recording, or this copy of it, ends at @time: set meta.until. 0 or -errno. */
int writer_set_until(struct writer *writer, int64_t time);

/* The connection of @writer, borrowed. */
struct sqlite3 *writer_db(struct writer *writer);

/* The last thread of the trace with this pid and tid; 0: none yet. */
uint32_t writer_find_thread(struct writer *writer, int pid, int tid);

/*
 * Call @each with the loaded file of process @pid, or of its parent, that has the instruction @ip:
 * its path and build ID, which are borrowed and may be NULL, and the offset in it.
 */
void writer_find_module(struct writer *writer, int pid, uint64_t ip,
			void (*each)(void *arg, const char *path, const char *build_id,
				     uint64_t offset),
			void *arg);

/*
 * Progress of the writer. After a failure only committed events count as written, the others as
 * lost.
 */
struct writer_progress {
	uint64_t events, lost, bytes; /* bytes: size of the file so far, approximately */
	uint64_t overwritten;
	bool before; /* no event was written: writer_finish() restores the previous trace */
};
/* The -errno of the failure that stopped the writer; 0: none. */
int writer_error(const struct writer *writer);

struct writer_progress writer_progress(const struct writer *writer);

/* The totals of the trace, after writer_stop(). */
struct totals writer_totals(const struct writer *writer);

/* Counts of failures; the user may want to store the events that led to a failure. */
enum { WRITER_STATUSES = 24 };
struct writer_alarms {
	uint64_t failed;  /* verbs that failed, except failures that programs expect */
	uint64_t errors;  /* completions in error, except flushed ones */
	uint64_t fatal;   /* fatal asynchronous events */
	uint64_t crashes; /* processes ended by a signal */
	/* completions by enum ibv_wc_status; the last: all higher ones; 0: not counted */
	uint64_t statuses[WRITER_STATUSES];
};
struct writer_alarms writer_alarms(const struct writer *writer);

enum { WRITER_ALARM_NAME = 16 };

/*
 * A failure counted in writer_alarms. Texts are our own, not the program's, and borrowed until the
 * callback returns.
 */
struct writer_alarm {
	enum { ALARM_VERB, ALARM_COMPLETION, ALARM_EVENT, ALARM_CRASH } kind;
	const char *verb;  /* name of the verb; NULL: a completion, a crash */
	const char *error; /* "ENOMEM", "IBV_WC_RETRY_EXC_ERR", "IBV_EVENT_QP_FATAL", "SIGSEGV" */
	uint32_t thread;   /* (@thread, @n) is the event; 0: a crash */
	uint64_t n;
	int64_t time; /* time in the trace, ns */
	uint32_t process;
	uint32_t qp_num; /* of a completion: QP number */
	uint64_t wr_id;
};

/* Call @each for each failure, when it is written. */
void writer_on_alarm(struct writer *writer,
		     void (*each)(void *arg, const struct writer_alarm *alarm), void *arg);

/* Note the losses of @thread so far, while it runs; @head: see writer_end_thread(). */
int writer_note_lost_thread(struct writer *writer, uint32_t thread, const struct ring_head *head);

/*
 * Call @each with the name of each provider's own function, at the first call by a process.
 */
void writer_on_direct(struct writer *writer,
		      void (*each)(void *arg, const char *function, uint32_t process), void *arg);

/*
 * Cut the trace, which may begin at the cut: all events so far are before the cut at @time, all
 * later ones after it. While a thread is inside a post no cut is possible, since the post could be
 * on the wrong side. Returns 0 or -errno.
 */
int writer_cut(struct writer *writer, int64_t time);
bool writer_is_cuttable(const struct writer *writer, int64_t time);

/*
 * The approximate size of the file in bytes if it were finished now: indexes and objects add three
 * eighths to the rows.
 */
uint64_t writer_size(struct writer *writer);

/* Have enough events come since the last call to check whether a cut is due? */
bool writer_may_need_cut(struct writer *writer);

/* The growth since the last cut: in bytes; in calls that are in memory because it may need them. */
uint64_t writer_bytes_since_cut(struct writer *writer);
uint64_t writer_calls_since_cut(const struct writer *writer);

/*
 * While writer_size() is above @keep, delete the events before the oldest cut, except those that
 * later events need. The control plane is deleted only after the live reader has read it. 0 or
 * -errno.
 */
int writer_forget(struct writer *writer, uint64_t keep);

/*
 * writer_read_until(): the live reader has read all events before @time. writer_awaits_reader():
 * the time up to which the live reader must read before more events can be deleted; INT64_MIN: no
 * deletion waits.
 */
void writer_read_until(struct writer *writer, int64_t time);
int64_t writer_awaits_reader(const struct writer *writer);

/* The objects and calls from before a cut that the trace still needs. */
struct writer_needs {
	size_t objects, calls;
};

/* False if the trace is not cut, or if a deletion waits for the live reader. */
bool writer_needs(const struct writer *writer, struct writer_needs *ret_needs);

/*
 * Note in table `carried` that the previous trace also has all events that this trace has so far;
 * findings about these events are not repeated. Returns 0 or -errno.
 */
int writer_carry(struct writer *writer);

/*
 * Copy everything stored so far to a new file @beside the trace @path, to be completed by
 * writer_complete_copy(). Returns 0 or -errno after log_err(), with @path treated as by
 * writer_create(); a failure of the copy alone does not stop the writer.
 */
int writer_copy(struct writer *writer, const char *path, char beside[FILE_BESIDE]);

/*
 * Complete a copy, with @why in its meta, and rename it to @path. May run in another process, a
 * child, too. 0 or -errno after log_err(); then @beside remains.
 */
int writer_complete_copy(const char *beside, const char *path, const char *why);

/*
 * No more events will come: commit all events. If @why is a -errno, the trace ends too early: it is
 * marked as interrupted, and uncommitted events are only counted, as after a failure. Returns 0 or
 * the writer's -errno; writer_progress() is exact from then on.
 */
int writer_stop(struct writer *writer, int why);

/*
 * Stop the writer, if it is running, and complete the trace with objects, references, devices and
 * indexes, as one file that is marked as complete. Without events, or if a trace that is not live
 * fails, the previous trace is restored. Frees the writer in any case. Returns 0 or -errno after
 * log_err().
 */
int writer_finish(struct writer *writer);

/* Is a previous trace set aside, which will be restored if the new one stays empty? */
bool writer_has_before(const struct writer *writer);

/* Remove the trace at @path completely. Frees the writer. */
void writer_drop(struct writer *writer, const char *path);
