#pragma once
/*
 * The counters and histograms of a run, computed in one pass over a trace's events (pass.h).
 *
 * Only calls of the program are counted: not those of the recorder, not those of a library inside
 * another verb, and not those that the previous trace has, too (--rotate-size). All times are ns,
 * all sizes bytes. In a sampled trace (one_of > 1), counts of posts, requests, polls and successful
 * completions, and their bytes, are estimates: one_of times the recorded number; there are no
 * latencies, gaps and distances.
 *
 * A value that the trace does not determine is 0, and another member says that it is not known.
 *
 * Two profiles, of two traces or two parts of one, are compared by: opcode and size class; verb;
 * and a place in the code by its key, or by the function and line of its stack. Histograms have the
 * same classes everywhere.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/profile/histogram.h"
#include "core/store/db/ids.h"

enum {
	PROFILE_OPCODES = 18,  /* enum ibv_wr_opcode 0..15, and the next two */
	PROFILE_OTHER = 16,    /* opcodes above 15 */
	PROFILE_RECEIVE = 17,  /* receives */
	PROFILE_SIZES = 35,    /* 0; 1; 2; 3..4; 5..8; ... up to 2^32, and above */
	STARVED_LEAST = 10000, /* ns: the shortest RNR timer; shorter waits may be transit time */
};

/* The selected part of a trace; zeroed: all. */
struct profile_select {
	int64_t from, to; /* ns; to = 0: to the end */
	uint32_t process; /* 0: all */
	/* phases of verbatim_phase(): a process counts while it is in one of them */
	const char *const *phases;
	size_t nphases;
	bool by_process; /* places are separate for each process, until profile_join_places() */
};

/* Requests of one opcode and size class. */
struct profile_requests {
	/*
	 * requests that the device accepted; 0 for receives: the size of their message is not known
	 * yet
	 */
	uint64_t posted;
	uint64_t completed;   /* with success */
	uint64_t bytes;       /* of the posted ones; for receives, of the completed ones */
	uint32_t least, most; /* bytes of the smallest and the largest request */
	uint64_t inlined;     /* posted with IBV_SEND_INLINE */
	struct histogram
		/*
		 * from the post to the end of the poll that returned the completion; none for
		 * receives, which wait for a sender
		 */
		latency;
};

/* The calls of one control verb. */
struct profile_verb {
	uint64_t calls, errors, unfinished;
	uint64_t posting;        /* calls by a thread between two of its posts to a send queue */
	int64_t posting_ns;      /* time of these calls */
	struct histogram *times; /* NULL: none has returned */
};

/* A place in the code that calls a verb: the same stack in two processes is one place. */
struct profile_place {
	uint64_t key;     /* facts/place.h; 0: the stack is not known */
	uint32_t stack;   /* one such stack of the trace; or 0 */
	uint32_t process; /* the process, if places are separate for each process; else 0 */
	enum verb verb;
	uint64_t calls, errors;
	int64_t ns;       /* of control verbs */
	uint64_t posting; /* as in struct profile_verb */
	int64_t posting_ns;
	uint64_t bytes; /* registered bytes, or those of the requests */
	/* of posts only: */
	uint64_t posts, requests, judged, signalled; /* as in struct profile_posts */
	uint64_t small, small_inline, inlined;
	uint32_t longest;     /* the largest number of requests in one post */
	struct histogram gap; /* from the previous post to the queue to each post from here */
};

/*
 * The outstanding requests of a queue over time, from its first post on, up to the last post or
 * completion.
 */
struct profile_depth {
	double area;      /* requests x ns */
	int64_t ns;       /* duration of this time */
	int64_t empty_ns; /* time without outstanding requests, up to the next post */
	uint64_t empty;   /* how often the queue became empty */
	int64_t last;     /* time of the last post or completion; 0: none */
};

/*
 * Messages that were posted before the receive that they consumed, by STARVED_LEAST or more:
 * analyzer/model/starved.h.
 */
struct profile_starved {
	uint64_t messages, stalls; /* stalls: messages that wait one after the other count as one */
	int64_t ns, longest;       /* total and longest time of the stalls */
	int64_t since, until;      /* begin and end of the last stall */
};

/* One direction of a queue pair, or an SRQ or a WQ. */
struct profile_side {
	uint64_t posts, requests, refused, completions, bytes;
	uint64_t judged, signalled; /* as in struct profile_posts */
	uint64_t small, small_inline;
	uint32_t high;      /* the largest number of outstanding requests */
	uint32_t capacity;  /* granted by the device; 0: not known */
	uint32_t asked;     /* requested by the program; 0: not known */
	unsigned int doubt; /* enum queue_doubt: why @high is not certain; 0: it is certain */
	bool known;         /* @high is valid: the queue's creation is in the trace */
	int64_t last;       /* time of its last post; -1: none */
	uint32_t run;       /* requests since the last signaled one */
	struct profile_depth depth; /* valid like @high */
};

/* A QP, SRQ or WQ that the program used. */
struct profile_queue {
	uint32_t object; /* of the trace */
	uint32_t process;
	uint32_t errors;         /* completions in error, including flushes */
	uint32_t max_inline;     /* bytes that the device granted; valid if send.known */
	uint64_t sent, received; /* bytes, as for a process */
	struct profile_side send, receive;
	struct histogram *latency; /* of the send queue's requests; NULL: none is known */
	/* latency of requests that certainly waited for the RNR timer; NULL: none */
	struct histogram *stalled;
	uint32_t stalled_by; /* bits: the values of min_rnr_timer that caused these waits */
	struct profile_starved starved; /* the messages to this queue pair */
};

struct profile_cq {
	uint32_t object, process;
	uint64_t polls, completions; /* polls that returned completions */
	uint64_t empty;
	/* most completions of one poll: a lower bound of the CQ's largest fill level */
	uint32_t most;
	uint64_t high; /* upper bound of the fill level: signaled requests and receives */
	uint32_t capacity, asked;
	unsigned int doubt;
	bool known;
	bool shared;     /* receives of an SRQ, not included in @high, complete on it, too */
	bool batches;    /* it was polled by ibv_start_poll */
	bool lengthless; /* an extended CQ that does not report byte_len */
	/*
	 * The mean time from one poll to the next, including empty ones, between two polls that
	 * found completions. Only if one thread polls the CQ and did not arm it in between.
	 */
	struct histogram gap;
	int64_t last;    /* time of the last poll; 0: there was none, or the CQ was armed since */
	uint32_t poller; /* the only thread that polls the CQ; 0: none, UINT32_MAX: several */
};

struct profile_process {
	uint32_t id;
	uint64_t threads, queues;
	uint64_t calls, posts, requests, completions, errors, polls, empty;
	uint64_t sent, received; /* bytes: by sends and writes; by receives, reads and atomics */
	int64_t first, last;     /* events; -1: none */
};

struct profile_thread {
	uint32_t id, process;
	uint64_t calls, posts, requests, completions, polls, empty;
	int64_t control_ns;
	uint64_t waits; /* for the recorder */
	int64_t waited_ns;
};

/*
 * Messages of reliable queue pairs with both ends recorded. Once an end has polled its completion
 * the message has arrived, so `way` is an upper bound of the time on the network, counted from the
 * post, and `lay_sent` and `lay_received` are lower bounds of the time that completions spent in
 * their CQs.
 */
struct profile_messages {
	struct histogram way, lay_sent, lay_received;
};

/* How long the recorder made threads wait, which the program did not cause: table `waited`. */
struct profile_waited {
	bool known; /* false: the trace does not have the table */
	/* number of waits; full, longer: those because the ring was full, or was extended */
	uint64_t times, full, longer;
	int64_t ns, full_ns, longer_ns, most; /* most: the longest */
	struct event_id worst;                /* the longest */
	int64_t worst_at;
	uint64_t threads; /* threads that waited */
};

/* Posts to queues of one direction. */
struct profile_posts {
	uint64_t posts, refused; /* calls that post, and refused ones */
	uint64_t requests, bytes;
	uint64_t judged; /* requests to queues whose creation is in the trace; among these: */
	uint64_t signalled;
	/* requests small enough to be inline; of these, sent inline */
	uint64_t small, small_inline;
	uint64_t inlined;          /* inline requests, among all requests */
	struct histogram gap;      /* between two posts to a queue */
	struct histogram list;     /* requests of a post */
	struct histogram distance; /* from one signaled request to the next, counting that one */
};

struct profile {
	/* the bounds of the trace */
	int64_t from, to;                    /* the selected part, within the trace */
	int64_t first, last;                 /* first and last counted event; -1: none */
	int64_t first_post, last_completion; /* -1: none */
	int64_t duration;                    /* of the selected part; for phases the sum of all */
	uint64_t nverbs;                     /* calls of verbs, without empty polls */
	uint32_t one_of;    /* one in this many data verbs was recorded: no latencies, no gaps */
	bool filtered;      /* --filter left out events */
	bool partial;       /* only a part of the trace was selected */
	int64_t whole_from; /* posts and polls before it may be missing; INT64_MIN: none are */

	struct profile_posts send, receive;
	struct profile_requests *requests[PROFILE_OPCODES][PROFILE_SIZES]; /* NULL: none */
	uint64_t completions, errors, flushed; /* flushed: of the errors */
	uint64_t lengthless;                   /* receives whose CQ does not report their length */
	uint64_t unmatched;      /* successful completions whose request is not known */
	uint64_t sent, received; /* bytes, as for a process */

	uint64_t polls; /* polls that returned completions; a batch of an extended CQ is one poll */
	uint64_t empty; /* polls that found none */
	uint64_t failed_polls;
	struct histogram poll; /* completions of each poll that was not empty */

	struct profile_verb verbs[VERB_COUNT];
	uint64_t registered, registered_bytes; /* regions that were registered */

	struct profile_messages messages;
	struct histogram *stalled[32]; /* latencies by the RNR timer that caused them; NULL: none */
	/* the first request of each stall, of all queues: no two of them overlap in time */
	struct histogram *stalls[32];
	int64_t stalled_until[32];
	struct profile_waited waited;

	/* in the order of their first use */
	struct profile_place *places;
	size_t nplaces;
	struct profile_process *processes; /* [0] is process 1 */
	size_t nprocesses;
	struct profile_thread *threads; /* [0] is thread 1 */
	size_t nthreads;
	/* by object; NULL: no such object */
	struct profile_queue **queues;
	struct profile_cq **cqs;
	size_t nobjects;
};

/* Accepts NULL. */
void profile_free(struct profile *profile);

/* Add the numbers of @place to @sum, which is another place or the sum of several. */
void profile_add_place(struct profile_place *sum, const struct profile_place *place);

/* Join places that select.by_process separated. */
void profile_join_places(struct profile *profile);

/* The size class of @bytes, and the largest size of a class. */
unsigned int profile_size_class(uint64_t bytes);
uint64_t profile_size_end(unsigned int class);

/* The mean number of outstanding requests; -1: not known. */
double profile_mean_depth(const struct profile_side *side);

/* The gaps between polls of all CQs, into a zeroed histogram. */
void profile_poll_gaps(const struct profile *profile, struct histogram *to);

/* The sum over all queue pairs, without `since` and `until`. */
struct profile_starved profile_starved(const struct profile *profile);

/* "SEND", "RDMA_WRITE", "RECV" of an index of profile.requests; "OTHER". */
const char *profile_opcode_name(unsigned int opcode);

/* All latencies of an opcode, or of all with PROFILE_OPCODES, into a zeroed histogram. */
void profile_latency(const struct profile *profile, unsigned int opcode, struct histogram *to);
