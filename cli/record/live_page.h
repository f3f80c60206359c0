#pragma once
/*
 * Live statistics of a recorded program: file DIR/session.vitals of its session.
 *
 * The viewer creates the file; the recorder counts as long as a viewer is attached, and publishes
 * about once a second. The program could write to the file, or truncate it: so it is read and
 * written, not mapped, and its contents are not trusted. One writer; any number of readers.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/session.h"

enum {
	LIVE_QUEUES = 64, /* rows: those with the most traffic */
	LIVE_OPCODES = 8,
	LIVE_NAME = 24,
	LIVE_ROUND_NS = 1000000000,
};

enum live_phase {
	LIVE_NONE,    /* nothing was published yet */
	LIVE_BEHIND,  /* earlier events are still being counted */
	LIVE_RUNNING, /* everything up to a moment ago is counted */
	LIVE_ENDED,   /* the program has ended, and the whole trace is counted */
	LIVE_FAILED,  /* the recorder has stopped counting, but continues to record */
};

/* Requests are those of send queues, receives those posted; bytes and completions as in stat. */
struct live_counts {
	uint64_t requests, receives, sent, received, completions, errors;
};

struct live_totals {
	struct live_counts data;
	uint64_t flushed;       /* of the errors */
	uint64_t calls, failed; /* of control verbs */
	uint64_t registered, registered_bytes;
	uint64_t waits; /* waits of the program for the recorder */
	int64_t waited_ns;
};

/* Since the last publication; ns, -1: none. */
struct live_latency {
	uint32_t opcode; /* of struct profile */
	uint64_t count;
	int64_t half, most_of_all, longest; /* p50, p99 */
};

/* Currently outstanding requests; `known` is false if that is not certain. */
struct live_depth {
	uint32_t outstanding, capacity; /* 0: not known */
	bool known;
};

struct live_queue {
	char name[LIVE_NAME];
	uint32_t object, process, number;
	struct live_counts all, since;
	struct live_depth send, receive;
	struct live_latency latency;
	bool gone; /* the queue pair was destroyed */
};

struct live_state {
	uint32_t phase;        /* enum live_phase */
	uint32_t one_of;       /* one in this many data verbs was recorded: counts are estimates */
	int64_t time;          /* time of the trace up to which all events are counted */
	int64_t seen;          /* time of the trace up to which events were recorded */
	int64_t interval;      /* ns of the trace since the last publication */
	int64_t waited_most;   /* ns */
	uint64_t events, lost; /* of the trace */
	uint64_t bytes;
	uint32_t processes, threads;
	uint64_t regions; /* memory regions that are alive */
	struct live_totals all, since;
	struct live_latency latencies[LIVE_OPCODES];
	uint32_t nlatencies;
	uint32_t nqueues, queues_of_all; /* number of rows; number of used queues */
	struct live_queue queues[LIVE_QUEUES];
};

/*
 * For a viewer: create the file, or open the existing one. For the recorder: open it, -ENOENT as
 * long as there was no viewer. A descriptor or -errno.
 */
int live_page_create(const struct session *session);
int live_page_open(const struct session *session);

/* 0 or -errno. */
int live_page_write(int fd, const struct live_state *state);

/*
 * The last published state, with valid row counts; @turn is 0 at first. 1, or 0: it has not changed
 * since @turn, which is updated; -errno.
 */
int live_page_read(int fd, struct live_state *ret_state, uint32_t *turn);

/* Note that a viewer is attached; is a viewer attached? */
int live_page_note_viewer(int fd);
bool live_page_has_viewer(int fd);
