#pragma once
/*
 * Queries of commands in the tables of a trace other than events.
 *
 * For one trace, not a joint one. Functions that return -errno have called log_err(); the others
 * treat unreadable values as missing. Not thread-safe.
 */
#include "core/store/read/trace.h"

/*
 * The time of event @id; for a call, of its begin or return. 1; 0: there is no such event; or
 * -errno.
 */
int lookup_time(struct trace *trace, struct event_id id, int64_t *ret_time);

/* Find completion @index of poll @id with @status, or its first one if @any. 1, 0 or -errno. */
int lookup_completion(struct trace *trace, struct event_id id, int status, bool any, uint32_t index,
		      uint32_t *ret_index);

/* How long and how often the recorder made the program wait. 0 or -errno. */
struct lookup_waited {
	uint64_t times;
	int64_t ns, longest;
};
int lookup_waited(struct trace *trace, struct lookup_waited *ret_waited);

/* Polls of a CQ by all threads. 0 or -errno. */
struct lookup_polls {
	uint64_t empty, completions;
	unsigned int threads;
};
int lookup_polls(struct trace *trace, uint32_t cq, struct lookup_polls *ret_polls);

/*
 * How often each thread of @process (0: of all) polled each CQ: table poll_count of a finished
 * trace. Calls @each for each life of a CQ's address, in order, or once for all polls of a CQ. A
 * life ends, at `last`, when the CQ is destroyed; polls that return later belong to the next life.
 * 0 or -errno.
 */
enum lookup_poll_rows { LOOKUP_BY_LIFE, LOOKUP_BY_CQ };
struct lookup_count {
	uint32_t thread, process;
	uint32_t object;       /* the CQ; 0: not known */
	uint64_t polls, empty; /* polls that found completions; polls that found none */
	int64_t last;          /* when the last poll returned */
	/* only for LOOKUP_BY_LIFE: */
	uint64_t cq; /* address of the CQ */
	uint32_t life;
};
int lookup_counts(struct trace *trace, uint32_t process, enum lookup_poll_rows by,
		  void (*each)(void *arg, const struct lookup_count *count), void *arg);

/* Does @process (0: any) begin @phase? List the phases in the order of their first begins. */
bool lookup_has_phase(struct trace *trace, const char *phase, uint32_t process);
void lookup_phases(struct trace *trace, void (*each)(void *arg, const char *text, size_t bytes),
		   void *arg);

/* Call @each for each UD queue pair, with its number in the trace, until it returns false. */
void lookup_datagram_qps(struct trace *trace, bool (*each)(void *arg, uint32_t qp), void *arg);

/* Was a verb called whose name matches @glob? */
bool lookup_has_call(struct trace *trace, const char *glob);

/* Did a process load a file whose path matches @like (of SQL)? */
bool lookup_has_module(struct trace *trace, const char *like);

/* Call @each for each loaded file, in the order of paths; @build_id may be NULL. 0 or -errno. */
int lookup_modules(struct trace *trace,
		   void (*each)(void *arg, const char *path, const char *build_id), void *arg);

/* The version of the trace's format. */
int lookup_format(struct trace *trace);

/* Did a call report a port with an Ethernet link? */
bool lookup_has_ethernet(struct trace *trace);

/* The payload bytes in the trace. */
uint64_t lookup_payload_bytes(struct trace *trace);

/* Unobserved data, one row for each kind. @first: an object, or a detail, or "-". */
struct lookup_unobserved {
	const char *what, *first;
	uint64_t times;
	uint32_t process; /* one of the processes with such a blind spot */
};
void lookup_visit_unobserved(struct trace *trace,
			     void (*each)(void *arg, const struct lookup_unobserved *unseen),
			     void *arg);

/* A counter of a device. @merged: the source trace, from 1; 0: the trace is not merged. */
struct lookup_counter {
	unsigned int merged;
	const char *device;
	uint32_t port; /* 0: of the whole device */
	const char *folder, *name;
	uint64_t first, last; /* values when the recording began and ended */
	/* when the recorder saw it change for the first and the last time; INT64_MIN: never */
	int64_t since, until;
};
/* Does the trace have the times at which counters changed? Not in traces of older versions. */
bool lookup_has_counter_samples(struct trace *trace);

/*
 * Call @each for each counter, in the order of device, port, folder and name. Traces of older
 * versions have none.
 */
void lookup_counters(struct trace *trace,
		     void (*each)(void *arg, const struct lookup_counter *counter), void *arg);

/* What a thread did from @time on, until its next sample. Texts may be NULL. */
struct lookup_sample {
	uint32_t thread;
	int64_t time;
	const char *doing, *state, *wchan;
};
/* Call @each for the last sample of each thread. Traces of older versions have no samples. */
void lookup_last_samples(struct trace *trace,
			 void (*each)(void *arg, const struct lookup_sample *sample), void *arg);

/*
 * Did @thread poll without result at @time, according to its samples? (It recorded no event then.)
 */
bool lookup_is_polling_at(struct trace *trace, uint32_t thread, int64_t time);

/* When @thread was stopped, if its last sample shows that it was; else INT64_MAX. */
int64_t lookup_stopped_since(struct trace *trace, uint32_t thread);

/* Why events could not be written, or "". */
void lookup_unwritten(struct trace *trace, char *why, size_t size);
