#pragma once
/*
 * A fact: a failure, independent of the rules.
 *
 * Failures with one cause are one fact with a count: the same verb, error, arguments and place in
 * the program, in any number of processes.
 *
 * Not thread-safe.
 */
#include "core/base/map.h"
#include "core/store/read/trace.h"

enum fact_kind {
	FACT_FAILED, /* a verb */
	FACT_HUNG,   /* a call that never returned */
	FACT_ERROR,  /* the first completion in error of a queue pair: see first_errors.h */
	FACT_KILLED, /* a process that had live objects */
	FACT_FATAL,  /* an asynchronous event */
	FACT_EXITED, /* a process ended with an exit status that no other fact explains */
	FACT_WAITED, /* a process that ended with success had waited for an impossible completion */
	FACT_PAUSED, /* a process that waited long for a completion that came in the end */
	FACT_COUNT,
};

struct fact_info {
	const char *name;  /* for --mute: "hung-call" */
	const char *title; /* heading of a list: "hung calls" */
	bool bad;          /* such a fact makes the exit status 1 */
};

extern const struct fact_info fact_infos[FACT_COUNT];

/* By name; -1 if there is none. */
int fact_find(const char *name);

enum {
	FACTS_KEPT = 1000, /* facts of each kind that are stored; the others are only counted */
	FACT_PROCESSES = 1024,
};

struct fact {
	enum fact_kind kind;
	struct event_id event; /* the first event; of a process: its last verb, or 0:0 */
	int64_t time;
	uint32_t process, thread;
	uint32_t stack; /* of the trace, 0 none */
	enum verb verb; /* VERB_COUNT: none */
	int error;      /* errno; for a process its signal (0 unknown) or status; an event's type */
	int64_t lasted; /* a hung call: until its process or trace ended; or a wait */
	bool ended;     /* the process of the hung call ended, not only the trace */
	uint64_t live;  /* objects of a killed process */
	int64_t last;   /* a process: time of its last verb */
	uint64_t count; /* number of occurrences */
	uint32_t *in;   /* processes with this failure, the first FACT_PROCESSES */
	size_t nin;
	uint64_t alike;     /* verbs that failed: equal if arguments and reason are similar */
	unsigned int known; /* enum finding_known */
	char *what;         /* "ibv_modify_qp(qp1 -> RTS)" */
	char *because;      /* for a process: what it waited for; NULL: not known */
};

struct fact_list {
	struct fact *all;
	size_t n;
	uint64_t count[FACT_COUNT]; /* number of facts, including those that are not stored */
	size_t kept[FACT_COUNT];
	struct map by_key; /* key to 1 + index in `all` */
	int err;           /* -ENOMEM: facts are missing */
};

/*
 * Count a fact with the cause @key in @process. If it is the first of that cause, its count is 1
 * and the caller fills it in. NULL if the list is full. Valid until the next call.
 */
struct fact *fact_count(struct fact_list *facts, enum fact_kind kind, uint64_t key,
			uint32_t process);

/* Undo one fact_count() of a fact. */
void fact_uncount(struct fact_list *facts, struct fact *fact);

/* A key from the values that identify a cause. */
uint64_t fact_key(uint64_t a, uint64_t b, uint64_t c);

void facts_clear(struct fact_list *facts);
