#pragma once
/*
 * What is outstanding on each queue, and what a queue has room for.
 *
 * A queue pair has a send queue and, without an SRQ, a receive queue; an SRQ and a
 * work queue have a receive queue (struct life: sq, rq, cq). A request is
 * outstanding from the post that the device accepted until its completion was
 * polled: completions are given with their requests by the trace
 * (core/store/read/match.h). One of a send queue retires the unsignalled requests
 * before it, whose room the device gives back only then.
 *
 * The model knows when it does not know: `doubt` of a queue says why its content is
 * not certain. A rule that would speak of a queue with a doubt says nothing.
 *
 * One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/lives.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/unique.h"

struct model;
struct overlaps;

enum {
	QUEUE_RECEIVE = -1,   /* opcode of a receive */
	QUEUE_BURST = 256,    /* completions of a large poll */
	QUEUE_CHASED = 20000, /* ns between two posts that could have been one */
};

/* Why the content of a queue is not certain; 0: it is. */
enum queue_doubt {
	QUEUE_OLDER = 1 << 0,   /* made before the recording, or imported */
	QUEUE_LOST = 1 << 1,    /* events are missing: lost, filtered, sampled, overwritten */
	QUEUE_UNSEEN = 1 << 2,  /* posts or polls that go round the verbs */
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
	uint32_t index; /* within the post */
	uint32_t stack; /* of the post, 0 not known */
	uint32_t rkey;
	uint64_t message; /* it takes the receive of that number, from 1 on; 0: none */
	int64_t starved;  /* ns after its post that no receive was there for it; 0: not known */
	uint32_t sge;     /* for queue_sge() */
	uint16_t nsge;
	int16_t opcode; /* enum ibv_wr_opcode, or QUEUE_RECEIVE */
	uint16_t flags; /* enum ibv_send_flags */
	bool signalled; /* it will have a completion; receives always */
	bool done;      /* it was retired and is no longer outstanding */
};

/*
 * What a queue has room for: as the program asked, and as the device gave. 0: not known; but where
 * the answer is `known', no inline bytes.
 */
struct queue_limits {
	uint32_t asked, given; /* requests */
	uint32_t sge_asked, sge_given;
	uint32_t inline_asked, inline_given; /* bytes */
	bool known;                          /* the trace has the device's answer */
};

/* What tells one request from another. */
struct queue_mark {
	uint64_t wr_id, addr, remote_addr; /* addr: of the first SGE, 0 none */
	int opcode;
};

/* A post that the device refused, in part or as a whole, until it is settled. */
struct queue_refusal {
	bool open;        /* the refused request was not posted since */
	struct moment at; /* of the post */
	int error;        /* what it returned */
	uint32_t nwr, taken;
	struct queue_mark first, last, bad;     /* the first and last accepted, the one refused */
	uint64_t list;                          /* all of the list, hashed */
	uint32_t outstanding, signalled, limit; /* then */
	bool full;                              /* that was the reason */
	uint64_t completed;                     /* of the queue, then */
	uint64_t later;                         /* other requests accepted since */
	uint64_t recovered;                     /* refusals before, that were posted again */
	bool ignored; /* the next of them, and nothing had completed meanwhile */
};

/* How a queue was used: for rules about time. */
struct queue_stats {
	uint64_t posts;     /* that were accepted */
	uint64_t signalled; /* requests */
	uint64_t chased;    /* of one request, right behind another such of the same thread */
	uint64_t small;     /* sends that fit inline */
	uint64_t small_inline;
	enum verb last_verb; /* of the last post */
	uint32_t last_thread, last_stack;
	uint64_t last_number; /* of the event */
	uint64_t last_n;      /* the same, 0 where it was of several requests */
	int64_t last_time;
};

struct queue_cq_stats {
	uint64_t polls, wcs; /* polls that returned completions, and how many */
	uint64_t empty;
	uint64_t chased;      /* polls of one completion, right behind another such */
	uint64_t bursts;      /* polls of QUEUE_BURST or more */
	uint32_t most;        /* of one poll */
	uint64_t acks, acked; /* calls of ibv_ack_cq_events(), and events in them */
	uint32_t last_thread;
	uint64_t last_n;
	bool last_single;
};

/* The requests of one direction. */
struct queue {
	struct life *owner; /* QP, SRQ or WQ; NULL when it is gone */
	bool send;
	bool all_signalled; /* sq_sig_all */
	unsigned int doubt; /* enum queue_doubt */
	unsigned int refs;
	struct queue_limits limits;
	struct queue_cq *cq;      /* where it completes; NULL: not known, or each QP's own (SRQ) */
	struct queue *next, **at; /* of those with something outstanding */
	struct queue *pooled;     /* of those in cq->pools */

	struct queue_request *ring;
	uint32_t first, count, size; /* with those that are done; size is 0 or a power of two */
	struct sge *sges;
	uint32_t sge_first, sge_end, sge_size; /* positions grow for ever: & (sge_size - 1) */

	uint32_t outstanding, signalled; /* requests; those of them that will complete */
	uint32_t high;                   /* most that were outstanding */
	uint32_t with_ah;                /* outstanding requests that name an AH */
	uint32_t run;                    /* unsignalled requests since the last signalled one */
	uint64_t posted, completed;      /* requests of all time */
	uint64_t writes;                 /* of those posted: RDMA WRITEs without immediate data */
	int64_t polled;                  /* when the last completed; 0: none has */
	uint64_t messages;     /* since it was last reset: receives, or sends that take one */
	bool draining;         /* the program has put it into ERR itself, and ... */
	uint64_t drained_from; /* ... so many had completed then */
	struct moment drain;
	struct unique wr_ids;      /* of signalled requests */
	struct unique buffers;     /* that the device writes to, by address */
	struct overlaps *overlaps; /* overlap.h; NULL: nothing was looked at */
	struct queue_stats stats;
	struct queue_refusal *refusal; /* the first that is open, or the last; NULL: none */
	int easy_sges;    /* a request with more SGEs, or an inline one, is looked at */
	bool beyond;      /* it was told that it holds more than it can */
	bool buffer_told; /* STRAIN_BUFFER */
	/* the only thread that does it; 0: none, UINT32_MAX: several */
	uint32_t poster, poller;
};

/* A queue pair that was destroyed before all its completions were polled. */
struct queue_left {
	uint32_t process, number;
	uint32_t requests; /* signalled, and not polled */
	char name[LIFE_NAME];
	struct moment created, destroyed;
};

/* What is outstanding for one CQ; without the requests of SRQs, which may complete elsewhere. */
struct queue_cq {
	struct life *owner; /* NULL when it is gone */
	unsigned int refs;
	uint32_t asked, given; /* entries; 0: not known */
	uint32_t queues;       /* that complete here */
	struct queue *pools;   /* of them those of XRC SRQs and WQs */
	uint64_t could;        /* requests outstanding on them: an error completes them all */
	uint64_t signalled;    /* those that complete in any case */
	uint64_t high;         /* most of `could` */
	unsigned int doubt;    /* of all its queues */
	bool strained;         /* it was told that it is too small */
	struct queue_cq_stats stats;
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

/* Does a request with @opcode take a receive of the other end? */
static inline bool queue_takes_receive(int opcode)
{
	return opcode == ABI_WR_SEND || opcode == ABI_WR_SEND_WITH_IMM ||
	       opcode == ABI_WR_SEND_WITH_INV || opcode == ABI_WR_RDMA_WRITE_WITH_IMM;
}

/* Does the device write to its first SGE? */
static inline bool queue_fills(const struct queue_request *request)
{
	return request->nsge &&
	       (request->opcode == QUEUE_RECEIVE || request->opcode == ABI_WR_RDMA_READ ||
		request->opcode == ABI_WR_ATOMIC_CMP_AND_SWP ||
		request->opcode == ABI_WR_ATOMIC_FETCH_AND_ADD);
}

/* The first that is outstanding, NULL if none is. */
const struct queue_request *queue_oldest(const struct queue *queue);

/*
 * Call @visit for each outstanding request of @process until it returns true, which is
 * returned. Oldest first within a queue.
 */
typedef bool queue_visit(void *arg, const struct queue *queue, const struct queue_request *request);
bool queues_each(const struct model *model, uint32_t process, queue_visit *visit, void *arg);

/* What was posted to the queues of @qp. */
struct peer_work queues_work(const struct life *qp);

/* The last that had the number of @qp before it, of the last few; NULL: none. */
const struct queue_left *queues_left(const struct model *model, const struct life *qp);

/* Outstanding requests that name an object. */
struct queue_named {
	uint64_t n;                /* of queues without a doubt */
	const struct queue *queue; /* of the first, the oldest of its queue; NULL: none */
	const struct queue_request *request;
	uint32_t sge; /* which of its SGEs; 0 for others than MRs */
};

/*
 * Those that name @object: an MR (or the MW or MR behind a bind) by an SGE's lkey, on a queue of
 * its device context; an AH by its address. Queues with a doubt are left out.
 */
struct queue_named queues_naming(const struct model *model, const struct life *object);
