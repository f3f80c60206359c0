#pragma once
/*
 * Buffers of two requests that are outstanding at once.
 *
 * The first requests of each queue are compared with the outstanding requests of its queue pair,
 * and sends with the READs of other queue pairs: a program that makes this mistake makes it from
 * the start. The first pair found is stored with the queue.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "analyzer/model/moment.h"

struct model;
struct queue;
struct queue_request;

enum { OVERLAP_WRITTEN = 8 };

/* Two outstanding requests that share bytes of a buffer. */
struct overlap_pair {
	uint64_t n;                   /* number of these pairs; 0: the other fields are not valid */
	struct moment earlier, later; /* their posts */
	uint64_t earlier_id, later_id; /* wr_id */
	int earlier_opcode, later_opcode;
	uint64_t addr, length; /* of the shared bytes */
	uint32_t index;        /* of the later request in its post */
	uint32_t earlier_index;
	uint32_t other;    /* object: the queue pair of the earlier one */
	bool apart;        /* the two buffers begin at different addresses */
	uint64_t gathered; /* pairs of READs from different remote addresses */
	/*
	 * pairs of atomics with two wr_ids, of which the later one is that of the first such pair
	 */
	uint64_t returned;
};

struct overlaps {
	struct overlap_pair filled;   /* two receives or READs into one buffer */
	struct overlap_pair unfenced; /* a READ or atomic, and a later send of its data */
	struct overlap_pair resent; /* a send that may not be done, and a receive into its buffer */
	struct overlap_pair refilled; /* a READ or atomic, and a receive into its buffer */
	/* a READ or atomic, and a later write to its remote address */
	struct overlap_pair overtaken;
	struct overlap_pair received; /* a receive, and a send of its buffer */
	struct overlap_pair entered;  /* a receive of the peer, and a WRITE to its buffer */
	/*
	 * as `entered`; the receive is for an answer, and the peer has sent nothing since it posted
	 * it
	 */
	struct overlap_pair late;
	uint64_t written[OVERLAP_WRITTEN]; /* the last places to which other WRITEs were posted */
	unsigned int nwritten;
	/* a READ or atomic of one queue pair, and a send of its data on another */
	struct overlap_pair abroad;
	struct overlap_pair reused; /* two sends of one buffer; or two WRITEs to two places */
	/* pairs of requests of two queues (crossing.h): */
	struct overlap_pair kept; /* as `resent`, with the receive on another queue */
	struct overlap_pair lent; /* as `received`, with the send on another queue */
	/* two WRITEs with immediate data to the same bytes, on one queue pair and on two */
	struct overlap_pair overrun, trampled;
	uint64_t imm_addr; /* the remote address of the first such WRITE */
	bool imm_apart;    /* such WRITEs had different addresses */
	/* two WRITEs without immediate data to the same bytes, on two queue pairs */
	struct overlap_pair collided;
	uint64_t plain_addr; /* as imm_addr and imm_apart, of WRITEs without immediate data */
	bool plain_apart;
	uint64_t sent_from; /* the buffer of the first send that was compared for `reused` */
	bool sent_apart;    /* these sends had different buffers */
	uint64_t deep;   /* pairs of `reused` at which four sends of the buffer were outstanding */
	uint64_t others; /* of those: pairs of messages that hardly have the same contents */
	bool to_itself;  /* the pairs of `reused` go to a queue pair of the same process */
	uint64_t looked; /* requests that were compared */
	uint64_t first;  /* the first buffer that the device writes to */
	bool apart;      /* the device writes to different buffers */
	bool answers; /* a send queue: its first request was posted after a message had arrived */
};

/*
 * Has no message that the queue pair of @queue has polled shown that @send, of @queue, has arrived?
 * The peer may have posted it before it received @send.
 */
bool overlap_is_unanswered(struct model *model, const struct queue *queue,
			   const struct queue_request *send);

/* The last request of @queue has been pushed. */
void overlap_check_request(struct model *model, struct queue *queue);
