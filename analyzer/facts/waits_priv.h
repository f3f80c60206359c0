#pragma once
/*
 * The waits of processes: what waits.c collects, waits_finish.c judges, and waits_text.c reports.
 */
#include "analyzer/facts/activity.h"
#include "analyzer/facts/sent.h"
#include "analyzer/facts/waits.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/cq_event.h"

enum { PATIENCE_NS = 250000000 };

/* The CQ on which the awaited request completes. */
struct wait_cq {
	char name[LIFE_NAME]; /* "": not known */
	uint32_t id;          /* object */
	uint64_t lying;       /* completions of the queue pair that are in the CQ, not polled */
	struct event_id deaf; /* the last time that it was armed without a channel; 0:0: never */
	bool has_channel;     /* the rest is valid */
	bool sleeps;          /* a thread is in ibv_get_cq_event() for its channel */
	struct cq_event wake;
	char other[LIFE_NAME]; /* another CQ of the channel that is armed; "": none */
	struct event_id other_armed;
	struct moment read; /* the last ibv_get_cq_event() on its channel; id 0:0: none */
	bool read_dry;      /* that call found no event */
};

struct wait {
	size_t fact;
	int64_t end;                 /* end of the process */
	int64_t since;               /* when the last completion was polled */
	struct queue_request oldest; /* the oldest send; .thread 0: it waits for receives */
	char queue[LIFE_NAME];
	uint64_t outstanding, completed; /* requests of @queue */
	bool no_timeout, no_rnr_limit;   /* its queue pair has timeout 0, rnr_retry 7 */
	uint32_t timeout, retry_cnt;     /* of its queue pair, and the time in which it gives up */
	int64_t retry_time;              /* ns; 0: not known, or without limit */
	struct moment drained;           /* when it went to SQD; id 0:0: it is in another state */
	/* an SRQ: when its last queue pair went to ERR; id 0:0: not all did */
	struct moment unflushed;
	bool no_reads; /* max_rd_atomic is 0, and @oldest a READ or atomic */
	struct wait_cq cq;
	uint32_t process, qp; /* the other end: process and object; 0: not known */
	/* the other end's rdma_disconnect(), whose event this end has not retrieved */
	struct moment hangup;
	char hung_id[LIFE_NAME]; /* the identifier of that event */
	int64_t gone;            /* when that queue pair ended; INT64_MAX: it still existed */
	bool alternative; /* counts if the process polls its CQ, and not that of the first wait */
	bool soon;        /* shorter than PATIENCE_NS: counts if the process polled often */
	bool mute; /* no request that completes on its CQ is signalled: no completion will come */
	bool arrived; /* the message arrived: the peer has completed its receive */
	bool both;    /* the peer had only receives outstanding as well, and its process was idle */
	struct receive_cq their_cq; /* of the other end's receives, if @both */
	bool both_polled; /* the peer's process polled meanwhile, as a later poll has shown */
	struct activity_note theirs; /* threads of the peer's process, if it is another */
	struct peer_work work;
	/* the other end's SRQ, if fewer receives were posted to it than messages were sent */
	struct shared_receives pool;
	/* number of the queue pair, if it is UC or UD and the number is unique; else 0 */
	uint32_t number;
	bool datagrams;
	uint64_t group; /* the multicast group that it was in; 0: none */
	uint64_t room;  /* bytes of the oldest receive */
};

/* A queue pair that went to RESET at @reset, which dropped its @receives. */
struct wait_dropped {
	char qp[LIFE_NAME];
	uint64_t receives; /* 0: none */
	struct moment reset;
};

/* What the threads of a process did, for a fact. */
struct wait_threads {
	size_t fact;
	struct activity_note note;
	struct wait_dropped dropped;
};

/* What a process waited for until it destroyed a queue pair, or ended. */
struct wait_before {
	uint32_t process;       /* 0: nothing */
	struct wait late, mute; /* .end is 0: none */
	struct wait_dropped dropped;
	uint32_t poster; /* the only thread that posted; 0: none, or several */
	int64_t began;   /* time of its first send */
	struct activity_note note;
};

/* The longest wait that a process gave up, to connect again. */
struct wait_given_up {
	struct wait late;   /* .end is 0: none */
	struct moment last; /* the last verb of the process before it gave up */
	int64_t quiet;      /* time of its last progress */
	/* empty polls until the next completion, of this process and of the peer's */
	uint64_t empty, their_empty;
	bool polled, they_polled; /* the two counts are known */
	bool resumed;             /* the process has sent at once */
	uint32_t peer_of;         /* the process that gave up a wait for this one; 0: none */
};

/* The last queue pair that a process destroyed with completions to come, or not polled. */
struct wait_destroyed {
	uint32_t qp; /* object; 0: none */
	uint32_t cq; /* object: the CQ of these completions */
	uint64_t sends, messages;
	struct moment at;
};

struct waits {
	struct trace *trace;
	struct fact_list *facts;
	const struct activity *activity;
	struct wait *all;
	size_t n;
	struct wait_threads *threads;
	size_t nthreads;
	struct wait_before *before; /* by process */
	size_t nbefore;
	/* of processes that ended well: whether they waited is known at the end */
	struct wait_before *well;
	size_t nwell;
	struct wait_given_up *given_up; /* by process */
	size_t ngiven_up;
	struct wait_destroyed *destroyed; /* by process */
	size_t ndestroyed;
	struct sent sent;
};

enum { WAIT_POLLS = 3 /* empty polls: fewer are not a wait */ };

/*
 * Describe the wait for completions of @queue: for @oldest, a send; NULL: for receives. @note has
 * what the threads of the process do.
 */
void waits_fill(struct waits *waits, struct wait *wait, struct model *model,
		const struct queue *queue, const struct queue_request *oldest,
		const struct activity_note *note);

/* The contents of @before belong to facts->all[@fact] from now on. */
void waits_store_before(struct waits *waits, struct wait_before *before, size_t fact);

/*
 * Add the sentence about @wait, whose threads meanwhile did @note (NULL: not known); the sentence
 * about the threads of the other end's process.
 */
void waits_describe(struct text *t, const struct waits *waits, const struct wait *wait,
		    const struct activity_note *note);
void waits_describe_peers(struct text *t, const struct waits *waits, const struct wait *wait);

/* The application begins to destroy a queue pair. */
void waits_note_dropped(struct waits *waits, struct model *model, const struct trace_event *event);

/* Add a sentence if the threads of @note polled for completions that this dropped. */
void waits_describe_dropped(struct text *t, const struct waits *waits,
			    const struct activity_note *note);
