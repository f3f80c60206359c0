#pragma once
/*
 * Shared by the files of a pair (pair*.c).
 *
 *	mine, its	the tables of this half, and of the other host's
 *	life        of a queue pair: pair_table.h
 *	stream      messages that a life receives
 *
 * pair.lock protects the fields that the line's thread changes; the others belong to the replay.
 */
#include <pthread.h>

#include "core/base/map.h"
#include "replay/two_host/line.h"
#include "replay/two_host/pair.h"
#include "replay/two_host/pair_table.h"
#include "replay/two_host/wire.h"
#include "replay/state/state.h"

enum pair_message {
	/* the parts of the tables, PAIR_PORT and so on, come first */
	PAIR_TABLE_END = PAIR_PARTS,
	PAIR_READY,  /* ready to begin */
	PAIR_STEPS,  /* number of steps that are done */
	PAIR_MADE,   /* life, queue pair's number */
	PAIR_LISTEN, /* life: its queue pair is in RTR */
	PAIR_GONE,   /* life: destroyed, reset, in error */
	PAIR_LEAVES, /* life: it waits for requests to it, and will be PAIR_GONE then */
	PAIR_CREDIT, /* stream, number of messages for which there is a receive */
	PAIR_DONE,   /* life, number of requests that are complete */
	PAIR_KEY,    /* process, recorded rkey, replayed rkey, recorded base, replayed base */
	PAIR_CLOSED, /* process, recorded rkey: it is no longer valid */
	PAIR_END,    /* everything is replayed */
	PAIR_BYE,    /* this replay ends early: the reason, a text */
};

enum { PAIR_WHY = 128 };

/* A life of this half, beyond the table. */
struct pair_own_life {
	uint32_t next;   /* the life after a reset: 1 + its index; 0: none */
	int64_t time;    /* when the queue pair was connected */
	uint32_t stream; /* 1 + index of its stream, if it is connected */
	uint32_t queue;  /* object to which its receives are posted: itself, or a shared queue */
	/* while it is replayed */
	uint32_t base;     /* number of its first send request */
	uint64_t sent;     /* messages */
	unsigned int vain; /* waits that were given up */
};

/* For each message of a stream, the receives that must have been posted to its queue. */
struct pair_needs {
	uint32_t queue; /* object to which the requests are posted */
	bool direct;    /* message n consumes receive n */
	uint32_t *posted;
	size_t n, size;
	size_t met; /* of @posted */
};

/* A life of the other host. */
struct pair_other_life {
	bool made, listens, leaves, gone;
	uint32_t number;
	uint64_t done;
};

struct pair_key {
	uint32_t rkey;
	uint64_t recorded_base, replayed_base;
	bool gone;
};

/* A counter that is sent when the line has time for it. */
struct pair_count {
	uint64_t value;
	bool listed;
};

struct pair_counts {
	enum pair_message message;
	struct pair_count *at;
	uint32_t *changed; /* indices */
	size_t nchanged;
};

struct pair {
	struct replay *r;
	enum wire_role role;
	struct wire *wire; /* the connection, until there is a struct line */
	struct line *line;
	struct pair_table mine, its;
	/* by life of this half, and of the other: 1 + index of the matching life */
	uint32_t *of_mine, *of_its;
	/* learned */
	struct pair_own_life *own;
	struct pair_needs *needs; /* by stream */
	uint32_t *now;            /* by object: its current life, 1 + its index */
	uint32_t *first;          /* by object: its first life */
	struct map failed;        /* event_part_key() of a request to enum ibv_wc_status */
	struct map avs;           /* address handle (object) to 1 + the index in @av */
	struct ibv_ah_attr *av;
	size_t nav;
	struct map binds; /* of windows: process_key() to how often it is bound */
	/* replayed */
	struct map bound;   /* by object: the recorded key of a window */
	uint64_t *posted;   /* by object: receives */
	struct map sent_to; /* datagrams: life << 32 | life of the other host, to their number */
	struct map streams; /* streams of the other half: life << 32 | source, to 1 + the index */
	unsigned int unmatched;
	/* under the lock */
	pthread_mutex_t lock;
	struct pair_other_life *there;
	uint64_t *credits; /* by stream of the other half */
	struct pair_key *keys;
	size_t nkeys;
	struct map key_of; /* process << 32 | recorded rkey, to 1 + the index */
	struct pair_counts credit, done;
	/* steps of this half that are done; steps that were reported to the other */
	uint64_t steps, steps_sent;
	int64_t steps_sent_at;
	uint64_t its_steps;
	int64_t moved; /* time of the other replay's last progress, wire_now() */
	bool its_table, its_ready, its_end, its_differs;
	int err; /* why the connection to the other replay was lost */
	char bye[PAIR_WHY];
};

/* pair_learn.c: collect the facts of this half from the trace. 0 or -errno after log_err(). */
int pair_learn(struct pair *p);

/* pair_exchange.c */
int pair_exchange(struct pair *p);
void pair_send(struct pair *p, enum pair_message message, const uint64_t *numbers, size_t n);
void pair_send_count(struct pair *p, struct pair_counts *counts, uint32_t index, uint64_t value);
int pair_send_table(struct pair *p);

/* pair_wait.c */
typedef bool pair_condition(const struct pair *p, uint64_t a, uint64_t b);
/*
 * Wait until @is_so, which is called under the lock, returns true, but no longer than @patience
 * without progress of the other replay. False: it did not become true.
 */
bool pair_await(struct pair *p, pair_condition *is_so, uint64_t a, uint64_t b, int64_t patience);
/*
 * For pair_await(): how long to wait for an event that is certain to come, and for a likely one.
 */
int64_t pair_wait_limit(const struct pair *p);
int64_t pair_check_interval(const struct pair *p);
bool pair_has_progress(void *arg);

/* pair_order.c */
uint32_t pair_life_of(const struct pair *p, uint32_t object); /* 1 + its index, or 0 */
/* the life of its peer in the other half, likewise */
uint32_t pair_other_of(const struct pair *p, uint32_t object);
enum ibv_wc_status pair_status_of(const struct pair *p, const struct trace_event *event,
				  uint32_t index);
uint32_t pair_find_target(struct pair *p, const struct trace_event *event, const struct wr *wr);

/* pair_keys.c */
/* Are the first @n requests of life @other of the other half complete? */
bool pair_has_finished(const struct pair *p, uint64_t other, uint64_t n);
/* Wait until no outstanding request of the other half needs region @object. */
void pair_await_unused(struct pair *p, uint32_t object);
void pair_send_key(struct pair *p, uint32_t object);
/* The new key of a region; the recorded one is in the outputs of @call. */
void pair_send_new_key(struct pair *p, const struct call *call);
/* before and after an event that may bind or invalidate windows */
void pair_await_windows(struct pair *p, const struct trace_event *event);
void pair_send_windows(struct pair *p, const struct trace_event *event);
