#pragma once
/*
 * Registrations and new queue pairs in steady state.
 *
 * A process is in steady state from its STEADY_POSTS-th post to its last: earlier calls set up,
 * later ones tear down. Only calls of threads that post count, as only these calls delay posts.
 * Registrations are also counted from the first send on, for programs with fewer than STEADY_POSTS
 * posts.
 *
 * Not thread-safe.
 */
#include <stdint.h>

#include "analyzer/model/lives.h"

enum { STEADY_POSTS = 1000, STEADY_BRIEF = 4, STEADY_THREADS = 8 };

struct model;
struct queue;
struct trace_event;

struct steady {
	uint64_t posts;
	uint32_t thread;                            /* of the last post */
	uint32_t posters[STEADY_THREADS], nposters; /* the first few threads that have posted */
	int64_t since, until;                       /* begin and end of the steady state */
	uint64_t calls; /* counted calls in steady state, and their time */
	int64_t ns;
	struct moment longest;
	int64_t longest_ns;
	uint64_t waiting_calls; /* such calls since the last post */
	int64_t waiting_ns;
	uint64_t sends;      /* posted sends */
	uint64_t received;   /* completions of receives */
	int64_t first_send;  /* when */
	uint64_t registered; /* (de)registrations since the first send, each followed by a post */
	int64_t register_ns; /* time of these calls */
	uint64_t waiting_registered;
	int64_t waiting_register_ns;
	/* queries, and calls for address handles, since the first send, each followed by a post */
	uint64_t asked;
	uint64_t queries; /* the queries among these: growing address handles are LIFE-004 */
	int64_t asked_ns;
	uint64_t waiting_asked;
	int64_t waiting_asked_ns;
	struct moment asked_longest;
	int64_t asked_longest_ns;
	int64_t completed; /* when a completion of a send was polled last */
	double pace; /* shortest time between two empty polls, ns: no_response.h; 0: not known */
	/* regions deregistered at most STEADY_BRIEF sends after their registration */
	uint64_t brief;
	/*
	 * short-lived objects of other kinds, with the time of the calls that create and destroy
	 * them
	 */
	struct steady_kind {
		/* counted: value of `sends` when the last one was counted */
		uint64_t brief, counted;
		int64_t ns, longest_ns;
		struct moment longest;
		/* an address handle counts if its path is that of the one before, ah_path */
	} made[OBJECT_COUNT];
	uint64_t ah_path;
	struct queue *posted_to; /* the send queue of the last request; NULL: none */
	struct steady_turns {    /* requests one at a time over several queues: serial.h */
		uint64_t n;
		int64_t flight_ns, gap_ns;
		struct moment last; /* the post of the last such request */
	} turns;
};

/* Before a post of @process is judged: make room for its state. 0 or -ENOMEM. */
int steady_begin_post(struct model *model, uint32_t process);

/* A post of the application, after steady_begin_post(). */
void steady_note_post(struct model *model, const struct trace_event *event);

/* A receive has completed. */
void steady_note_receive(struct model *model, uint32_t process);

/* A control verb of the application has returned. */
void steady_note_call(struct model *model, const struct trace_event *event);

/* An object was created; only those count whose creation may be followed by few sends. */
void steady_note_created(struct model *model, struct life *life);

/* An object was destroyed. */
void steady_note_destroyed(struct model *model, const struct life *life);

/* The send queue of @life ends. */
void steady_end_queue(struct model *model, const struct life *life);

/* The process has ended. */
void steady_forget(struct model *model, uint32_t process);

/* The state of @process; NULL: it has posted nothing. */
const struct steady *steady_of(const struct model *model, uint32_t process);
