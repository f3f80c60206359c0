#pragma once
/*
 * Writing a trace: it takes the events of rings and makes an SQLite file.
 *
 * Events and heads are the caller's own memory, never the program's: nothing of
 * them is believed, but what is checked here is used here, later, too.
 *
 * One thread. After a failure (disk full, most often) the writer takes nothing
 * more, and what was committed before stays readable; writer_finish() may
 * still be tried and then completes what there is.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/db/ids.h"
#include "core/wire/clock.h"
#include "core/wire/event.h"
#include "core/wire/payload.h"
#include "core/wire/ring.h"

struct writer;

struct writer_info {
	const struct clock *clock;
	const char *command; /* what was recorded, as one line */
	const char *device;  /* "soft", or the name asked for, or "" */
	const char *filter;  /* what was recorded of all, as given; NULL or "": everything */
	uint32_t one_of;     /* data verbs: one of so many was recorded; 0 or 1: all */
	struct payload_rule payload; /* what is kept of payloads */
	bool live;                   /* events come when they are made */
	bool elsewhere;              /* the clock is another machine's: any time may be */
};

/*
 * Make a new trace at @path (0600). A trace of ours that is there already is
 * replaced; anything else in the way (another file, a link, another user's) is
 * refused: -EEXIST, -ELOOP, -EACCES. Returns 0 or -errno after log_err().
 */
int writer_create(const char *path, const struct writer_info *info, struct writer **ret_writer);

/* What was not known when the trace was made; NULL: as it is. */
int writer_describe(struct writer *writer, const char *command, const char *device);

/* A new ring: its thread, and its process if that is new, too. Returns 0 or -errno. */
int writer_thread(struct writer *writer, const struct ring_head *head, uint32_t *ret_thread);

/*
 * One event of @thread; @event is whole (ring_peek() said so) but its body is
 * not trusted. Returns 0; -EBADMSG, and the event is counted as damaged; or
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

/* So many threads could not make a ring: the trace has only their number. */
int writer_ringless(struct writer *writer, uint32_t threads);

/* What threads did not get for the sake of their program, where it is not 0; goes into `meta`. */
struct writer_withheld {
	uint32_t rings;   /* that did not become wider */
	uint32_t threads; /* that got no ring, and are among the ringless */
	uint64_t budget;  /* bytes, the least that did so */
	uint32_t waits;   /* for a recorder that stood still, given up */
};

int writer_withheld(struct writer *writer, const struct writer_withheld *withheld);

/* What begins from now on at @time cannot join the recording: noted in `coverage`. */
int writer_session_gone(struct writer *writer, int64_t time);

/* So many events of threads that are not known were lost before they got here: table `loss`. */
int writer_discarded(struct writer *writer, uint64_t events);

/* The thread has ended, or is as good as that: its last poll counters, what it dropped. */
int writer_thread_end(struct writer *writer, uint32_t thread, const struct ring_head *head);

/* The process has ended. @status as of waitpid(), -1 where not known. */
int writer_process_end(struct writer *writer, int pid, int64_t time, int status);

/* Commit what there is: what survives if we are killed now. */
int writer_flush(struct writer *writer);

/*
 * Put what there is into the tables, without a commit, for trace_follow().
 * Open transactions and the order of events stay as they are.
 */
int writer_settle(struct writer *writer);

/* Time of the last event of @thread, ns; nothing of it comes before. INT64_MIN: none yet. */
int64_t writer_read_to(const struct writer *writer, uint32_t thread);

/* What a check found: a row of table `finding`. */
struct writer_finding {
	const char *rule, *name, *severity;
	struct event_id event;
	int64_t time;
	uint32_t process;
	const char *place, *object, *says;
	uint64_t times;
};
int writer_finding(struct writer *writer, const struct writer_finding *finding);

/* Its connection, borrowed. */
struct sqlite3 *writer_db(struct writer *writer);

struct writer_progress {
	uint64_t events, lost, bytes; /* bytes: of the file so far, about */
	uint64_t overwritten;
};
/* The failure after which nothing more is taken, 0 if there was none. */
int writer_error(const struct writer *writer);

struct writer_progress writer_progress(const struct writer *writer);

/* What has happened so often that somebody may want to keep what led to it. */
struct writer_alarms {
	uint64_t errors;  /* completions that failed of themselves: not flushed */
	uint64_t fatal;   /* asynchronous events of that kind */
	uint64_t crashes; /* processes that a signal ended */
};
struct writer_alarms writer_alarms(const struct writer *writer);

/* What @thread has lost by now, while it runs: @head as of writer_thread_end(). */
int writer_thread_lost(struct writer *writer, uint32_t thread, const struct ring_head *head);

/* Forget the oldest of the data plane until at most @keep bytes of it are left. 0 or -errno. */
int writer_forget(struct writer *writer, uint64_t keep);

/*
 * What is in the trace now was in the one before it: that is noted (table
 * `carried`), and what was found there is not in this one. Returns 0 or -errno.
 */
int writer_carry(struct writer *writer);

/*
 * Write all that is kept as a complete trace to @path, with @why in its meta;
 * what is in the way is treated as by writer_create(). Returns 0 or -errno
 * after log_err(); a failure of the copy alone does not stop the writer.
 */
int writer_snapshot(struct writer *writer, const char *path, const char *why);

/*
 * Complete the trace: objects, references, devices, indexes; one file, marked
 * as whole. Frees the writer whatever happens. Returns 0 or -errno after log_err().
 */
int writer_finish(struct writer *writer);
