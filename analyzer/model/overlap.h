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
	uint64_t n;                    /* such requests; 0: the other fields are not valid */
	struct moment earlier, later;  /* their posts */
	uint64_t earlier_id, later_id; /* wr_id */
	int earlier_opcode, later_opcode;
	uint64_t addr, length; /* of the shared bytes */
	uint32_t index;        /* of the later request in its post */
	uint32_t earlier_index;
	uint32_t other;    /* object: the queue pair of the earlier one */
	bool apart;        /* the buffers do not begin at the same address */
	uint64_t gathered; /* pairs of READs from different remote addresses */
	uint64_t returned; /* pairs of atomics of which the later one has the wr_id of the first */
};

struct overlaps {
	struct overlap_pair filled;    /* two receives or READs into one buffer */
	struct overlap_pair unfenced;  /* a READ or atomic, and a later send of its data */
	struct overlap_pair resent;    /* a send that may not be done, a receive in its buffer */
	struct overlap_pair refilled;  /* a READ or atomic, a receive in its buffer */
	struct overlap_pair overtaken; /* a READ or atomic, a later write to its remote address */
	struct overlap_pair received;  /* a receive, a send of its buffer */
	struct overlap_pair entered;   /* a receive of the peer, a WRITE to its buffer */
	/* likewise, in a place for answers, and the peer has sent nothing since it posted that */
	struct overlap_pair late;
	uint64_t written[OVERLAP_WRITTEN]; /* the last places of other WRITEs */
	unsigned int nwritten;
	struct overlap_pair abroad; /* a READ or atomic of another queue pair, a send of its data */
	struct overlap_pair reused; /* two sends of one buffer; or two WRITEs to two places */
	/* with requests of other queues (crossing.h): */
	struct overlap_pair kept; /* a send that may not be done, a receive in its buffer */
	struct overlap_pair lent; /* a receive, a send of its buffer */
	/* two WRITEs with immediate data to the same bytes, on one queue pair and on two */
	struct overlap_pair overrun, trampled;
	uint64_t imm_addr;  /* the remote address of the first such WRITE */
	bool imm_apart;     /* others had other addresses */
	uint64_t sent_from; /* the address of the first send that was compared for that */
	bool sent_apart;    /* others were from other addresses */
	uint64_t deep;      /* those of `reused` for which four such sends were outstanding */
	uint64_t looked;    /* requests that were compared */
	uint64_t first;     /* the address of the first that the device writes to */
	bool apart;         /* other buffers had another address */
	bool answers;       /* of sends: the first was posted after a message had come */
};

/*
 * Has no message that the queue pair of @queue has polled shown that @send, of @queue, has arrived?
 * The peer may have posted it before it received @send.
 */
bool overlap_is_unanswered(struct model *model, const struct queue *queue,
			   const struct queue_request *send);

/* The last request of @queue has been pushed. */
void overlap_check_request(struct model *model, struct queue *queue);
