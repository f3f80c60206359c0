#pragma once
/*
 * The outstanding requests and the capacity of each queue.
 *
 * A queue pair has a send queue and, without an SRQ, a receive queue; an SRQ and a work queue have
 * a receive queue (struct life: sq, rq, cq). A request is outstanding from the post that the device
 * accepted until its completion was polled: the trace matches completions with their requests
 * (core/store/read/match.h). A completion of a send queue also retires the unsignaled requests
 * before it, whose entries the device frees only then.
 *
 * The field `doubt` says why the content of a queue is not certain. Rules do not report findings
 * about a queue with a doubt.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/lives.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/wr_id_set.h"

struct model;
struct overlaps;
struct slots;
struct stride;
struct swapped;
struct same_wr_id;

enum {
	QUEUE_RECEIVE = -1,   /* opcode of a receive */
	QUEUE_RECEIVED = 16,  /* remembered buffers of datagrams */
	QUEUE_REFUSED = 16,   /* refused requests that are stored */
	QUEUE_BURST = 256,    /* completions of a large poll */
	QUEUE_LOOKS = 4,      /* remembered polls of a CQ */
	QUEUE_CHASED = 20000, /* ns between two posts that could have been one */
	QUEUE_COSTLY = 10,
	QUEUE_BATCH = 64, /* completions that polls QUEUE_LATE ns apart found waiting */
	QUEUE_LATE = 1000000,
};

/* Why the content of a queue is not certain; 0: it is. */
enum queue_doubt {
	QUEUE_OLDER = 1 << 0,   /* made before the recording, or imported */
	QUEUE_LOST = 1 << 1,    /* events are missing: lost, filtered, sampled, overwritten */
	QUEUE_UNSEEN = 1 << 2,  /* posts or polls that bypass the verbs */
	QUEUE_STRAY = 1 << 3,   /* a completion had no request */
	QUEUE_GUESSED = 1 << 4, /* an error completion may belong to several requests */
};

/* An outstanding request. */
struct queue_request {
	uint64_t wr_id;
	uint64_t n; /* of the post's T:N: queue_id() */
	int64_t time;
	uint64_t remote_addr; /* of RDMA and atomics */
	uint64_t ah;          /* of a datagram */
	uint32_t thread;
	uint32_t index;      /* within the post */
	uint32_t stack;      /* of the post, 0 not known */
	uint32_t rkey;       /* or the key to invalidate */
	uint32_t remote_qpn; /* of a datagram */
	uint32_t srqn;       /* of XRC: the number of the SRQ */
	uint64_t message;    /* consumes the peer's receive of this number, from 1 on; 0: none */
	int64_t starved;     /* ns after its post during which it had no receive; 0: not known */
	uint32_t sge;        /* for queue_sge() */
	uint16_t nsge;
	int16_t opcode; /* enum ibv_wr_opcode, or QUEUE_RECEIVE */
	uint16_t flags; /* enum ibv_send_flags */
	bool signalled; /* it will have a completion; receives always */
	bool done;      /* it was retired and is no longer outstanding */
};

/*
 * The capacity of a queue: as requested, and as granted by the device. 0: not known; but if `known`
 * is set, no inline bytes.
 */
struct queue_limits {
	uint32_t asked, given; /* requests */
	uint32_t sge_asked, sge_given;
	uint32_t inline_asked, inline_given; /* bytes */
	bool known;                          /* the trace has the device's answer */
};

/* Identifies a request. */
struct queue_mark {
	uint64_t wr_id, addr, remote_addr; /* addr: of the first SGE, 0 none */
	int opcode;
};

/* A post that the device refused, in part or as a whole, until it is repeated or the queue ends. */
struct queue_refusal {
	bool open;        /* the refused request was not posted again */
	struct moment at; /* when the refused post was called */
	int error;        /* what the post returned */
	uint32_t nwr, taken;
	uint32_t together; /* requests that were refused because one did not fit */
	/* the first and the last accepted request, and the refused one */
	struct queue_mark first, last, bad;
	uint64_t list;                          /* hash of the whole list */
	uint32_t outstanding, signalled, limit; /* of the queue, at that time */
	bool full;                              /* because the queue was full */
	uint64_t completed;                     /* of the queue, at that time */
	uint64_t later;     /* other requests that were accepted after the refusal */
	uint64_t recovered; /* earlier refusals that were posted again */
	bool ignored;       /* the next post was refused, too, with no completion in between */
	/* the first few of the other requests that the full queue refused in a row */
	struct queue_mark more[QUEUE_REFUSED];
	uint64_t nmore;
	bool returned; /* one of these requests was posted again */
};

/*
 * Posts or polls after the first completion, since set-up is not a steady state. A post or poll of
 * a single request is chased if it directly follows another such post or poll; a run is one that is
 * not chased, with all the chased ones after it. A run is costly if it takes QUEUE_COSTLY percent
 * of the time until the next run.
 */
struct queue_singles {
	uint64_t all, chased;
	uint64_t costly;             /* chased posts or polls in costly runs */
	int64_t costly_ns, whole_ns; /* time of the costly runs, and from each to the next run */
	uint64_t run; /* number of chased posts or polls in the last run, and the time of the run */
	int64_t run_ns, since;
};

/* The number of posted receives, over time: receive_level.h. */
struct queue_level {
	uint32_t top, peak; /* heights of the first and of the last peak; 0: none */
	/* number of peaks that were lower, and higher, than the one before */
	uint64_t falls, rises;
	bool posted;        /* a receive was posted since the last completion */
	bool is_full;       /* the number of posted receives is the maximum so far */
	uint64_t fills;     /* how often it has become full */
	struct moment full; /* the first completion after it was last full */
};

/* The messages to a receive queue, and those that waited for a receive: dry.h. */
struct queue_dry {
	int64_t next;        /* the queue is not examined before */
	int64_t until;       /* when messages were last seen to have waited; 0: never */
	uint64_t waiting;    /* the largest number of messages that waited at once */
	uint64_t messages;   /* messages that completed at the sender */
	int64_t first, last; /* from the first post until the last completion */
	uint64_t delayed;    /* messages that took at least as long as the timer */
	unsigned int timer;  /* min_rnr_timer of the last message */
	int64_t ns, covered; /* total time that messages were delayed, and its end */
	uint64_t stalls;     /* delays that do not overlap */
	int64_t longest;
	struct moment example; /* the message with the longest delay */
	/*
	 * starved.h: the longest time in which messages had no receive, except the first such time
	 */
	int64_t lack;
	uint64_t lacking; /* messages that waited during that time */
	/* the first of these messages; the post of the next receive */
	struct moment lacked, replenished;
};

/* Messages to the sender of a receive queue, before it had a receive for the next one: credit.h. */
struct queue_credit {
	/* number of the message that the last one allows the peer to send; 0: none is awaited */
	uint64_t needs;
	struct moment sent; /* the last message */
	int64_t refilled;   /* when the next receive was posted; 0: not yet */
	uint64_t answers;   /* posts of sends until then */
	/* immediate data of that message, if they may count receives; those posted since */
	uint32_t granted, refills;
	bool followed;   /* the message with number `needs` has been posted */
	bool beyond;     /* the peer does not count: it has sent more than receives were posted */
	uint32_t looked; /* sends that were examined */
	uint64_t times;
	int64_t longest;     /* longest time from such a message to the receive */
	struct moment first; /* the first such message */
};

/* SENDs without bytes: empty.h. */
struct queue_empty {
	bool never;       /* something else was sent */
	uint64_t n, room; /* room: bytes of the receive of the first one */
	struct moment first;
};

/* Fetch-and-adds of 0: addend.h. */
struct queue_addend {
	bool never; /* there was another atomic */
	uint64_t n;
	uint64_t swap; /* of the first one */
	uint32_t index;
	struct moment first;
};

/* Datagrams to a receive queue since the last completion that was polled of it: datagram.c. */
struct queue_flood {
	uint64_t n, completed;       /* completed: of the queue, at that time */
	uint64_t most, room, excess; /* the burst that exceeded the posted receives by most */
	struct moment at;            /* the last datagram of that burst */
};

/* Usage of a queue: for rules about time. */
struct queue_stats {
	uint64_t posts;     /* accepted posts */
	int64_t first_time; /* of the first */
	uint64_t signalled; /* requests */
	/* posts of one request, each directly after another such post of the same thread */
	uint64_t chased;
	struct queue_singles steady;
	uint64_t small; /* sends and writes small enough to be inline */
	uint64_t small_inline;
	uint64_t bytes; /* bytes of all requests */
	uint64_t reads; /* READs and atomics */
	/* READs and atomics that were posted while max_rd_atomic were outstanding */
	uint64_t reads_waiting;
	enum verb last_verb; /* of the last post */
	uint32_t last_thread, last_stack;
	uint64_t last_number; /* of the event */
	uint64_t last_n;      /* the event's number; 0 if the post had several requests */
	int64_t last_time;
	uint32_t turn;  /* the thread that posted last, at first the one that made the queue pair */
	uint32_t turns; /* posts by another thread than `turn` */
};

/* Requests that were sent one at a time: serial.h. */
struct queue_serial {
	uint64_t turns;
	/* time of these requests from the post to the poll; time before their posts */
	int64_t flight_ns, gap_ns;
	/* the last request */
	uint64_t local, remote; /* addresses; 0: no buffer, or an inline one */
	int64_t stride;         /* distance from the remote address of the request before */
	int opcode;
	bool ready;                  /* it was posted as a turn */
	bool crossed;                /* posted as a turn after a request on another queue */
	int64_t since;               /* when the completion of that request was polled */
	bool alone;                  /* nothing else was outstanding */
	uint32_t thread;             /* of its post, 0: none */
	uint64_t posted_n, polled_n; /* events of that thread; 0: not polled */
	int64_t posted, polled;
	/* counts of the process, and of the other end, at its post */
	uint64_t sends, received, others;
};

struct queue_cq_stats {
	uint64_t polls, wcs; /* polls that returned completions, and their completions */
	uint64_t empty;
	uint64_t chased;      /* polls of one completion, directly after another such poll */
	uint64_t bursts;      /* polls of QUEUE_BURST or more */
	uint32_t most;        /* of one poll */
	uint64_t acks, acked; /* calls of ibv_ack_cq_events(), and events in them */
	uint32_t last_thread;
	uint64_t switches; /* polls by another thread than the poll before */
	uint64_t last_n;
	bool last_single;
	int64_t first_time, last_time;
	struct queue_singles steady;
	/* batches of QUEUE_BATCH or more, of a CQ that no thread had polled for some time */
	uint64_t late, late_wcs;
	int64_t late_ns;
	uint64_t batch; /* completions since the poll that began the batch; 0: none */
	int64_t batch_ns;
	uint64_t batch_events;
	/*
	 * polls that found a message after some time without a poll, and the number of completions
	 * that they found
	 */
	uint64_t slept, slept_wcs;
	int64_t slept_ns;
	bool asleep;
	uint64_t events; /* events that were retrieved from its channel */
	int64_t vector;  /* comp_vector; -1: not known */
	uint32_t waiter; /* the thread that retrieved the first event */
};

/* The requests of one direction. */
struct queue {
	struct life *owner; /* QP, SRQ or WQ; NULL when it is destroyed */
	bool send;
	bool all_signalled; /* sq_sig_all */
	unsigned int doubt; /* enum queue_doubt */
	unsigned int refs;
	struct life *user; /* of an SRQ: the queue pair that uses it, */
	uint32_t users;    /* number of queue pairs that ever used the SRQ; @user is valid if 1 */
	/*
	 * of an SRQ: when the first queue pair that the program had moved to ERR was destroyed; or
	 * 0
	 */
	int64_t user_gone;
	/* of an SRQ: queue pairs destroyed with messages in their CQ, and when the first one was */
	uint32_t unread_users;
	int64_t unread_gone;
	uint64_t unread; /* these messages, and the last of these queue pairs */
	char unread_user[LIFE_NAME];
	struct queue_limits limits;
	/* its completion queue; NULL: not known, or that of each QP (SRQ) */
	struct queue_cq *cq;
	struct queue *next, **at; /* in the list of those with outstanding requests */
	struct queue *pooled;     /* in the list cq->pools */

	struct queue_request *ring;
	/* including those that are done; size is 0 or a power of two */
	uint32_t first, count, size;
	struct sge *sges;
	uint32_t sge_first, sge_end, sge_size; /* positions grow without limit: & (sge_size - 1) */

	uint32_t outstanding,
		signalled;          /* outstanding requests, and how many of them are signalled */
	uint32_t high;              /* largest number of outstanding requests */
	uint32_t with_ah;           /* outstanding requests that name an AH */
	uint32_t reads, most_reads; /* outstanding READs and atomics; most of them at once */
	uint32_t run;               /* unsignaled requests since the last signaled one */
	uint64_t posted, completed; /* requests of all time */
	uint64_t to_receives;       /* of those posted: sends that consume a receive */
	uint64_t writes;            /* of those posted: RDMA WRITEs without immediate data */
	int64_t polled;             /* when the last completed; 0: none has */
	uint64_t messages;     /* receives, or sends that consume a receive, since the last reset */
	uint32_t dropped;      /* requests that the last reset removed */
	uint32_t starved;      /* messages that the last post to this receive queue found waiting */
	int64_t starved_since; /* when the first of them was posted */
	bool draining;         /* the program itself has moved it to ERR */
	uint64_t drained_from; /* `completed` at that time */
	struct moment drain;
	struct wr_id_set wr_ids;   /* of signalled requests */
	struct same_wr_id *twice;  /* same_wr_id.h; NULL: none */
	struct wr_id_set buffers;  /* receive buffers, by address */
	struct overlaps *overlaps; /* overlap.h; NULL: no requests were compared */
	/*
	 * for each of the first sends: 1 + the number of messages that had been received when it
	 * was posted; 0: not known (overlap.c)
	 */
	uint16_t *seen;
	struct astray_seen *astray;   /* astray.h; NULL: nothing was */
	struct unordered *unordered;  /* unordered.h; NULL: no such request was posted */
	struct slots *slots;          /* slots.h; NULL: nothing was written */
	struct stride *stride;        /* stride.h; NULL: no such request was posted */
	struct swapped *swaps;        /* swapped.h: the last word of a compare-and-swap; or NULL */
	struct read_release *release; /* read_release.h; NULL: none */
	uint64_t spins;               /* posts in a row that swap that word: the first one was at */
	int64_t spun_since;           /* this time, the last one was number */
	uint64_t spun;                /* this of all posts */
	uint64_t released;            /* WRITEs to that word, each after such a request */
	struct moment swapped;        /* that request; id 0:0: the word was written since */
	struct queue_stats stats;
	struct queue_serial serial;
	struct queue_level level;
	struct queue_dry dry;
	struct queue_credit credit;
	struct queue_flood flood;
	struct queue_empty empty;
	struct queue_addend addend;
	uint32_t limit; /* of an SRQ: the largest srq_limit; 0: none was armed */
	struct moment limited;
	struct moment armed;      /* when a limit was armed last; the limit event disarms it */
	uint64_t posted_at_event; /* `posted` when the last event of the SRQ was retrieved */
	/* the first refusal that is open, else the last; NULL: none */
	struct queue_refusal *refusal;
	int easy_sges;   /* only requests with more SGEs, or with inline data, are examined */
	bool beyond;     /* the watcher was notified that more is outstanding than the capacity */
	bool datagrams;  /* of a UD queue pair */
	bool unreliable; /* the send queue of a UD or UC queue pair */
	bool grh_told;   /* PROBLEM_GRH_ROOM, PROBLEM_GRH_SENT or PROBLEM_GRH_SHORT */
	bool qkey_told;  /* PROBLEM_QKEY */
	uint64_t received[QUEUE_RECEIVED]; /* of UD: addresses of the last buffers; grh.h */
	unsigned int nreceived;
	bool buffer_told; /* PROBLEM_BUFFER */
	/* the only thread that posts; the only one that polls; 0: none, UINT32_MAX: several */
	uint32_t poster, poller;
};

/* A queue pair that was destroyed before all its completions were polled. */
struct queue_destroyed {
	uint32_t process, number;
	uint32_t requests; /* signaled requests that were not polled */
	char name[LIFE_NAME];
	struct moment created, destroyed;
};

/* How threads poll or wait for a CQ. */
struct queue_cq_waits {
	struct {
		int64_t time;
		uint64_t empty;  /* empty polls of the thread just before */
		uint32_t thread; /* 0: there is none */
	} polls[QUEUE_LOOKS];    /* the last polls that found completions, newest first */
	int64_t armed;           /* when it was armed for all events; 0: it is not armed */
	/* the wait for its last event, and when it was armed for it; 0: the CQ was polled since */
	int64_t slept, woken, covered;
	uint32_t sleeper;
};

/* The outstanding requests of one CQ, without those of SRQs, which may complete elsewhere. */
struct queue_cq {
	struct life *owner; /* NULL when it is destroyed */
	unsigned int refs;
	uint32_t asked, given; /* entries requested and granted; 0: not known */
	struct moment resized; /* the last time, for @asked entries; id 0:0: never */
	/* ibv_modify_cq(): an event comes after that many completions, or that many us */
	uint16_t moderate_count, moderate_us;
	struct moment moderated;
	int64_t fields;          /* of an extended CQ: wc_flags that it was created with; else -1 */
	uint32_t queues;         /* queues whose requests complete on this CQ */
	struct queue *pools;     /* of these queues, the ones of XRC SRQs and WQs */
	uint64_t could;          /* their outstanding requests: an error would complete them all */
	uint64_t signalled;      /* requests that complete for certain */
	uint64_t high;           /* most of `could` */
	uint64_t high_signalled; /* most of `signalled` */
	unsigned int doubt;      /* of all its queues */
	bool overflowed;         /* it overran, or the watcher was notified that it is too small */
	/* `high_signalled` when it was compared with what its queues may have */
	uint64_t compared;
	struct queue_cq_stats stats;
	struct queue_cq_waits look; /* no_response.h */
};

static inline struct event_id queue_id(const struct queue_request *request)
{
	return (struct event_id){ request->thread, request->n };
}

/* The post of a request. */
static inline struct moment queue_moment(const struct queue *queue,
					 const struct queue_request *request)
{
	enum verb receive = queue->owner && queue->owner->kind == OBJECT_srq ? VERB_post_srq_recv
									     : VERB_post_recv;

	return (struct moment){ .id = queue_id(request),
				.verb = queue->send ? VERB_post_send : receive,
				.process = queue->owner ? queue->owner->process : 0,
				.stack = request->stack,
				.time = request->time };
}

/* Outstanding requests, oldest first: @i < queue->count; some are done. */
static inline const struct queue_request *queue_at(const struct queue *queue, uint32_t i)
{
	return &queue->ring[(queue->first + i) & (queue->size - 1)];
}

static inline const struct sge *queue_sge(const struct queue *queue,
					  const struct queue_request *request, uint32_t i)
{
	return &queue->sges[(request->sge + i) & (queue->sge_size - 1)];
}

/* core/model/operation.h, for the requests of a queue. */
static inline bool queue_takes_receive(int opcode)
{
	return operation_takes_receive(opcode);
}

static inline bool queue_reads(int opcode)
{
	return operation_reads(opcode);
}

/* Does the device write to its first SGE? */
static inline bool queue_fills(const struct queue_request *request)
{
	return request->nsge && (request->opcode == QUEUE_RECEIVE || queue_reads(request->opcode));
}

/* The oldest outstanding request; NULL if there is none. */
const struct queue_request *queue_oldest(const struct queue *queue);

/*
 * Call @visit for each outstanding request of @process until it returns true, which is
 * returned. Oldest first within a queue.
 */
typedef bool queue_visit(void *arg, const struct queue *queue, const struct queue_request *request);
bool queues_each(const struct model *model, uint32_t process, queue_visit *visit, void *arg);

/*
 * Is no request outstanding that completes on @cq? False also if that is not known, or if @cq has
 * no queue.
 */
bool queues_expect_none(const struct life *cq);

/*
 * The number of messages of send queue @sends that have certainly been executed, as completions
 * show.
 */
uint64_t queue_count_sent(const struct queue *sends);

/*
 * The queue pair that receives from @queue: its owner, or the only queue pair that uses the SRQ;
 * else NULL.
 */
const struct life *queue_receiver(const struct queue *queue);

/* The requests posted to the queues of @qp, and to its SRQ if no other queue pair has used it. */
struct peer_work queues_peer_work(const struct life *qp);

/* The work of @peer, alive or destroyed; NULL: nothing is known. */
struct peer_work queues_work_of(const struct peer *peer);

/* The CQ of the receives of a queue pair that exists. */
struct receive_cq queues_receive_cq(const struct life *qp);
struct shared_receives queues_shared_receives(struct peers *peers, const struct life *qp);

/*
 * The last destroyed queue pair that had the number of @qp, if it is still remembered; else NULL.
 */
const struct queue_destroyed *queues_find_left(const struct model *model, const struct life *qp);

/* Outstanding requests that use an object. */
struct queue_users {
	uint64_t n;                /* their number, without queues that have a doubt */
	const struct queue *queue; /* the queue of the first such request, its oldest; NULL: none */
	const struct queue_request *request;
	uint32_t sge; /* index of its SGE; 0 for other objects than MRs */
};

/*
 * The outstanding requests that use @object: an MR (or the MW or MR of a bind) by an SGE's lkey, on
 * a queue of its device context; an AH by its address. Queues with a doubt are left out.
 */
struct queue_users queues_find_users(const struct model *model, const struct life *object);
