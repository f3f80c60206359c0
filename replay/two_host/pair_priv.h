#pragma once
/*
 * What the files of a pair (pair*.c) share.
 *
 *	mine, its   this half, and the other host's, as the tables have them
 *	life        of a queue pair: pair_table.h
 *	stream      messages that a life receives
 *
 * pair.lock is for what the line's thread changes; the rest is the replay's.
 */
#include <pthread.h>

#include "core/base/map.h"
#include "replay/two_host/line.h"
#include "replay/two_host/pair.h"
#include "replay/two_host/pair_table.h"
#include "replay/two_host/wire.h"
#include "replay/state/state.h"

enum pair_message {
	/* PAIR_PORT and so on come first: the tables */
	PAIR_TABLE_END = PAIR_PARTS,
	PAIR_READY,  /* to begin */
	PAIR_STEPS,  /* that were done: number */
	PAIR_MADE,   /* life, queue pair's number */
	PAIR_LISTEN, /* life: it is in RTR */
	PAIR_GONE,   /* life: destroyed, reset, in error */
	PAIR_CREDIT, /* stream, number of messages for which there is a receive */
	PAIR_DONE,   /* life, number of requests that are complete */
	PAIR_KEY,    /* process, rkey there, here, base there, here */
	PAIR_CLOSED, /* process, rkey there: its region is gone */
	PAIR_END,    /* all was replayed */
	PAIR_BYE,    /* it ends before its time: text */
};

enum { PAIR_WHY = 128 };

/* A life of mine, beyond what the table has. */
struct pair_own {
	uint32_t next;   /* life of the same queue pair, after a reset: 1 + its index; or 0 */
	int64_t time;    /* when it was connected */
	uint32_t stream; /* 1 + its index, of a connected one */
	uint32_t queue;  /* object that its receives are posted to: itself, or a shared one */
	/* while it is replayed */
	uint32_t base;     /* of the numbers of its send requests */
	uint64_t sent;     /* messages */
	unsigned int vain; /* waits for room that were given up */
};

/* For each message of a stream, the receives that must have been posted to its queue. */
struct pair_needs {
	uint32_t queue; /* object that they are posted to */
	bool direct;    /* message n takes receive n */
	uint32_t *posted;
	size_t n, size;
	size_t met; /* of @posted */
};

/* A life of the other host. */
struct pair_there {
	bool made, listens, gone;
	uint32_t number;
	uint64_t done;
};

struct pair_key {
	uint32_t rkey;
	uint64_t base_there, base_here;
	bool gone;
};

/* A counter that is told when the line has time for it. */
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
	struct wire *wire; /* until there is a line */
	struct line *line;
	struct pair_table mine, its;
	uint32_t *of_mine, *of_its; /* life of the other one: 1 + its index */
	/* learned */
	struct pair_own *own;
	struct pair_needs *needs; /* by stream */
	uint32_t *now;            /* by object: its life at this point, 1 + its index */
	uint32_t *first;          /* by object: its first one */
	struct map failed;        /* event_part_key() of a request to enum ibv_wc_status */
	struct map avs;           /* address handle (object) to 1 + the index in @av */
	struct ibv_ah_attr *av;
	size_t nav;
	/* replayed */
	uint64_t *posted;   /* by object: receives */
	struct map sent_to; /* datagrams: life << 32 | life there, to how many */
	struct map streams; /* of its: life << 32 | source, to 1 + the index */
	unsigned int unmatched;
	/* under the lock */
	pthread_mutex_t lock;
	struct pair_there *there;
	uint64_t *credits; /* by stream of its */
	struct pair_key *keys;
	size_t nkeys;
	struct map key_of; /* process << 32 | rkey there, to 1 + the index */
	struct pair_counts credit, done;
	uint64_t steps, told; /* mine */
	int64_t told_at;
	uint64_t its_steps;
	int64_t moved; /* when it last did something, wire_now() */
	bool its_table, its_ready, its_end, its_differs;
	int err; /* why the line was lost */
	char bye[PAIR_WHY];
};

/* pair_learn.c: what the trace tells of this half. 0 or -errno after log_err(). */
int pair_learn(struct pair *p);

/* pair_talk.c */
int pair_talk(struct pair *p);
void pair_tell(struct pair *p, enum pair_message message, const uint64_t *numbers, size_t n);
void pair_tell_count(struct pair *p, struct pair_counts *counts, uint32_t index, uint64_t value);
int pair_tell_table(struct pair *p);

/* pair_wait.c */
typedef bool pair_condition(const struct pair *p, uint64_t a, uint64_t b);
/*
 * Wait until @is_so, which is called under the lock; not longer than the other replay stands still
 * for @patience. False: it is not so.
 */
bool pair_await(struct pair *p, pair_condition *is_so, uint64_t a, uint64_t b, int64_t patience);
/* How long it may stand still: where it will come, and where that only may be so. */
int64_t pair_patience(const struct pair *p);
int64_t pair_doubt(const struct pair *p);
bool pair_moves(void *arg);

/* pair_order.c */
uint32_t pair_life_of(const struct pair *p, uint32_t object);  /* 1 + its index, or 0 */
uint32_t pair_other_of(const struct pair *p, uint32_t object); /* the same of its end there */
enum ibv_wc_status pair_status_of(const struct pair *p, const struct trace_event *event,
				  uint32_t index);
uint32_t pair_target(struct pair *p, const struct trace_event *event, const struct wr *wr);
