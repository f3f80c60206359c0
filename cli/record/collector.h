#pragma once
/*
 * The collector: empties the rings of a session into a trace while the program runs.
 *
 * Not thread-safe. A failure of the writer closes the session, so the program continues unrecorded;
 * it is returned once, and the collector then does nothing more.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/store/write/writer.h"
#include "core/wire/session.h"

struct collector;

/* @session and @writer are borrowed until collector_free(). Returns 0 or -ENOMEM. */
int collector_new(struct session *session, struct writer *writer, struct collector **ret_collector);

/*
 * Pass the contents of the rings to the writer. Returns the fill level of the fullest ring, in
 * percent (0: all were empty), or -errno after log_err().
 */
int collector_drain(struct collector *collector);

/*
 * Read all rings in the order of time, @at_once events at a time, and call @between after each
 * batch: the writer then has all events of the rings up to collector_ordered_until(), in ticks, and
 * no later ones. @between returns 0, or -errno of the writer, which collector_drain() returns.
 */
void collector_preserve_order(struct collector *collector, uint64_t at_once,
			      int (*between)(void *arg), void *arg);
uint64_t collector_ordered_until(const struct collector *collector);

/* Pass all events up to @ticks to the writer, including those of new rings. Returns 0 or -errno. */
int collector_drain_until(struct collector *collector, uint64_t ticks);

/*
 * Check for changes: new rings, threads and processes that have ended; commit if it is time. Call
 * it several times a second. Returns 0 or -errno.
 */
int collector_update(struct collector *collector);

/*
 * Note that all processes of the session are dead: each ended with its last event, and the files do
 * not change any more.
 */
int collector_note_leftover(struct collector *collector);

/* Write the losses of running threads so far into the trace. Returns 0 or -errno. */
int collector_write_losses(struct collector *collector);

/* Time of the trace up to which all events in the rings were passed to the writer. */
int64_t collector_last_event(const struct collector *collector);

/*
 * From now on events stay in their rings until they are committed, so that a process that takes
 * over after a kill can read them again; call collector_mark_positions() before each commit.
 */
void collector_hold(struct collector *collector);
void collector_mark_positions(struct collector *collector);

/*
 * The processes are not recorded any more. If a process ends now, its end is not recorded, since
 * its events until then are missing.
 */
void collector_detach(struct collector *collector);

/* @pid is a child of this process: collector_note_ended() will be called when it ends. */
void collector_note_child(struct collector *collector, pid_t pid);

/* The child has ended with @status, as of waitpid(). */
void collector_note_ended(struct collector *collector, int status);

/* The process @pid, a child of another recorder, has ended with @status, as of waitpid(). */
void collector_note_end(struct collector *collector, pid_t pid, int status);

/* Does a ring hold events, or is there a new ring? */
bool collector_has_events(const struct collector *collector);

/* Is there no ring, and no process that had one? */
bool collector_is_idle(const struct collector *collector);

/* The session's directory was removed: note that in the trace. Returns 0 or -errno. */
int collector_note_session_gone(struct collector *collector);

/* Is there a ring that has not ended, of a process that can be watched? */
bool collector_has_live_rings(const struct collector *collector);

/* After collector_finish(): was there a ring that could not be read? */
bool collector_has_unreadable(const struct collector *collector);

/*
 * Were programs started as another user, so that they could not be recorded? The collector has
 * already reported it.
 */
bool collector_has_unrecordable(const struct collector *collector);

/* Has the living process @pid had a ring: has it called a verb? */
bool collector_has_guest(const struct collector *collector, pid_t pid);

/* The number of processes that have had a ring so far. */
unsigned int collector_count_processes(const struct collector *collector);

/* Read the rest, end all threads and close the session. Returns 0 or -errno. */
int collector_finish(struct collector *collector);

/* Accepts NULL. */
void collector_free(struct collector *collector);
