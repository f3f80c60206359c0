#pragma once
/*
 * Which queue pairs are connected to each other.
 *
 * Two queue pairs are peers while each is connected to the other's number, and their addresses and
 * PSNs fit (core/model/fit.h). Addresses are those that ibv_query_port() and ibv_query_gid()
 * returned; the recorder queries each device that is opened. If a number fits several queue pairs,
 * none of them is the peer. Between two traces (core/store/read/joint.h), the clocks must be known,
 * too.
 *
 * These are the peers known while events arrive. Table `connection` has the peers derived from the
 * whole trace.
 *
 * A peer whose queue pair or process is gone is remembered until PEERS_DEAD others are gone.
 *
 * Not thread-safe.
 */
#include "analyzer/model/lives.h"
#include "core/base/map.h"
#include "core/model/place.h"

enum { PEERS_DEAD = 1 << 14 };

/* Work that an end has posted to its own queues. */
struct peer_work {
	int state;           /* ABI_QPS_*, QP_UNKNOWN */
	struct moment moved; /* when it moved to the state */
	uint64_t unread;     /* messages that are in its CQ, not polled */
	/* if `known` is false, the fields below are not valid */
	bool known;
	uint64_t sends;       /* all sends so far */
	uint64_t receives;    /* receives posted since its last reset */
	uint64_t before;      /* receives posted before that reset */
	uint32_t dropped;     /* receives that were outstanding at the reset */
	uint64_t to_receives; /* sends that consume a receive of the peer */
	uint64_t writes;      /* RDMA WRITEs among the sends: no completion at the peer */
	uint64_t room;        /* receives that are outstanding */
	uint64_t received;    /* receives that have completed */
	uint64_t sending;     /* signalled sends that are outstanding */
	struct moment last;   /* the last post that was accepted; id 0:0: none */
	uint64_t messages;    /* completed sends that consume a receive */
	bool interrupted;     /* a reset or an error has prevented that all messages complete */
};

/* The CQ on which the receives of a queue pair complete. */
struct receive_cq {
	uint32_t id;         /* object; 0: not known */
	uint64_t channel;    /* handle; 0: none */
	unsigned int others; /* other queue pairs whose outstanding receives complete there */
};

/* The SRQ of a queue pair, if several use it, and the messages that were posted to all of them. */
struct shared_receives {
	uint32_t srq; /* object; 0: none */
	uint64_t receives, messages;
	unsigned int users; /* queue pairs whose peers are known */
};

/* One end: a queue pair. Attributes are in its struct qp while it lives. */
struct peer {
	struct peer *same;          /* next queue pair of the same number, newest first */
	struct peer *older, *newer; /* in the list of destroyed queue pairs */
	struct life *life;          /* NULL when the queue pair was destroyed */
	uint32_t process, id;       /* id: object; 0 unknown */
	uint32_t number;            /* qp_num */
	uint64_t context, pd;
	struct device *device;   /* its context's; NULL: not known */
	int64_t gone;            /* when it was destroyed or its process ended; INT64_MAX: exists */
	struct moment destroyed; /* if it ended by a destroy */
	struct peer_work left;   /* its work until it was destroyed, and where it received */
	struct receive_cq left_cq;
	struct shared_receives left_shared;
	struct moment hangup; /* its rdma_disconnect(), if there was one before; id 0:0: none */
	bool connected;       /* the following fields are valid */
	bool is_rc;
	bool is_ud;         /* copied from the struct qp when the queue pair is destroyed */
	uint8_t port;       /* its own port; 0: not known */
	uint8_t sgid_index; /* sgid_index of its path, if .place is global */
	struct place place; /* address of the other end */
	uint32_t dest;      /* number of the other end */
	int64_t since;      /* when it got that number */
	uint32_t psns;      /* which of these are known: ABI_QP_RQ_PSN, ABI_QP_SQ_PSN */
	uint32_t rq_psn, sq_psn;
	uint32_t takes_reads; /* max_dest_rd_atomic; UINT32_MAX: not known */
	bool reads_refused;   /* STATE-005 was reported for it */
	bool compared;        /* its attributes were compared with those of the other end */
	bool alone;           /* it was reconnected; the other end was not */
	bool behind;          /* @alone, and the other end had sent messages before */
	unsigned int stalls;  /* sends that found no receive and took a multiple of 655.36 ms */
	int64_t stalled;      /* when the last of these completed */
	bool slow;            /* a send that found a receive took such a time, too */
	struct peer *other;   /* valid while peers.changes is @changes */
	uint64_t changes;
};

struct peers {
	const struct trace *trace; /* NULL: not known, and not joint */
	struct map by_number;      /* of struct peer */
	struct map by_dest; /* by number: the last queue pair that was connected to that number */
	struct peer *oldest, *newest; /* the list of destroyed queue pairs */
	size_t ngone;
	uint64_t changes;
};

void peer_fini(struct peers *peers);

/* The peer of @peer, alive or destroyed; NULL: not known, or @peer is NULL. */
struct peer *peer_find_other(struct peers *peers, struct peer *peer);

/*
 * The only live queue pair with the number and address that @peer is connected to, whatever that
 * queue pair is connected to; NULL: none, or several. peer_find_misled(): only if that queue pair
 * is connected to another number.
 */
struct peer *peer_find_intended(struct peers *peers, const struct peer *peer);
struct peer *peer_find_misled(struct peers *peers, const struct peer *peer);

/*
 * The queue pair that @peer was connected to, alive or destroyed, whether or not it is connected
 * back; NULL: it is not known, or there are several.
 */
struct peer *peer_find_given(struct peers *peers, const struct peer *peer);

/* The only live queue pair with @number at @place, as seen by @process; NULL: none or several. */
struct peer *peer_find_at(const struct peers *peers, uint32_t process, uint32_t number,
			  const struct place *place);

/*
 * Iterate over all queue pairs that have or had @number: the one after @peer (NULL: the first);
 * NULL after the last.
 */
const struct peer *peer_next(const struct peers *peers, uint32_t number, const struct peer *peer);

/*
 * How many queue pairs, alive or destroyed, @peer may be connected to, as far as addresses are
 * known.
 */
unsigned int peer_count_candidates(const struct peers *peers, const struct peer *peer);

/*
 * Call @tell for each queue pair with @number, and the only queue pair of another trace that it can
 * be connected to, whatever the clocks whose relation is not yet known.
 */
void peer_visit_on_other_host(const struct peers *peers, uint32_t number,
			      void (*tell)(void *arg, const struct peer *peer,
					   const struct peer *other),
			      void *arg);

/* Is @peer the only queue pair that has its number, or recently had it? */
bool peer_is_only(const struct peers *peers, const struct peer *peer);

/*
 * The last queue pair with the number that @peer is connected to, if all of them were destroyed;
 * NULL: one is alive, or none existed.
 */
const struct peer *peer_find_former(const struct peers *peers, const struct peer *peer);

/* The last live queue pair that is connected to the number of @peer; NULL: none. */
const struct peer *peer_find_claimant(const struct peers *peers, const struct peer *peer);

/* How far apart times of two processes must be for their order to be known: 0 in one trace. */
int64_t peer_slack(const struct peers *peers, uint32_t process, uint32_t other);

/* A queue pair was made, on @context (NULL: not known); it was destroyed. 0 or -ENOMEM. */
int peer_add(struct peers *peers, struct life *qp, struct life *context);
void peer_leave(struct peers *peers, struct life *qp, int64_t now);

/* The program has connected a queue pair to the number of its peer, or has reset it. */
void peer_connect(struct peers *peers, const struct life *qp);
