#pragma once
/*
 * Shared by the files of the synthesized peer (synth*.c).
 *
 *	plan     a recorded queue pair, and the known properties of its other end
 *	host     an address that the plans lead to: one context, one memory
 *	end      a queue pair of a host, created for a plan
 *
 * Protected by made.lock, except in the first pass.
 */
#include <pthread.h>

#include "core/base/map.h"
#include "replay/synth/synth.h"
#include "replay/state/state.h"

/* Memory of a host under one key: the recorded addresses. */
struct synth_range {
	uint64_t start, end;
	struct ibv_mr *mr;
};

struct synth_region {
	uint32_t rkey; /* the recorded rkey */
	int access;    /* enum ibv_access_flags */
	struct synth_range *ranges;
	size_t nranges;
};

struct synth_srq {
	uint32_t number; /* the recorded number */
	struct ibv_srq *srq;
	uint32_t here;
};

struct synth_host {
	bool global;
	union ibv_gid gid;           /* the recorded GID */
	uint16_t lid;                /* the recorded LID, if the address is not global */
	const struct device *device; /* of the replay */
	uint64_t nends, receives, messages, placed;
	struct synth_region *regions;
	size_t nregions;
	struct map by_rkey; /* to their index */
	uint64_t longest;   /* length of the longest message to or from this end */
	bool bind;          /* its windows are invalidated by messages */
	/* replayed */
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct memory *memory; /* behind the regions */
	char *buffer;          /* @longest bytes for sent data, then as many for received data */
	struct ibv_mr *buffer_mr;
	struct ibv_mr *closed;   /* a region whose key gives no access */
	struct ibv_mw **windows; /* invalidated by messages of the recorded side */
	size_t nwindows;
	struct ibv_xrcd *xrcd;
	struct ibv_cq *srq_cq;
	struct synth_srq *srqs;
	size_t nsrqs;
};

struct synth_end {
	struct synth_end *next; /* of the plan */
	struct synth_host *host;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_ah *ah; /* for datagrams: to the recorded queue pair's port */
	uint32_t there;    /* recorded QP number of the end */
	/* the peer posts no more receives: the recorded side saw RNR_RETRY_EXC */
	bool deaf;
	bool dead;
	bool closed;         /* the end allows no remote reads or writes */
	bool stuck;          /* the end's messages did not arrive in time */
	unsigned int unsent; /* outstanding sends */
};

/* The connections of a plan's queue pair, in order of time. */
struct synth_link {
	uint32_t host;   /* index + 1; 0: the other end is in the trace */
	uint32_t number; /* recorded QP number of the other end */
	uint32_t sq_psn;
	struct ibv_ah_attr av;
	int64_t time;
	uint64_t heard; /* datagrams received from this end */
	bool named;     /* its memory was accessed, and some accesses succeeded */
};

/* A message that had arrived before an event, and was polled only after it. */
struct synth_early {
	struct event_id poll; /* the poll; its completion has number @index */
	uint32_t index;
	uint32_t cq;
	uint64_t order; /* its place among all messages, in the order of their polls */
	int64_t time;   /* of the poll */
	struct event_id request;
	uint32_t qp, length, imm, src_qp;
	int status;
	uint16_t flags; /* enum ibv_wc_flags */
	uint8_t write;  /* with immediate */
	uint8_t solicited;
	bool sent;
};

/* A failure of a recorded queue pair, which its other end caused. */
struct synth_break {
	uint32_t qp;
	uint32_t message; /* 1 + index in made.early: the one that caused it; 0: a bad request */
	bool needless;    /* the queue pair failed by itself: not caused */
};

/*
 * The actions of the other ends before an event: messages come first in the list, in their order.
 */
struct synth_due {
	uint32_t next;    /* 1 + index; 0: none */
	uint32_t message; /* 1 + index in made.early; 0: a failure: */
	uint32_t cause;   /* 1 + index in made.breaks */
	bool limit;       /* send only until the event, IBV_EVENT_SRQ_LIMIT_REACHED, comes */
	bool awaited;     /* the message must have arrived before the event is replayed */
};

struct synth_dues {
	uint32_t first, last; /* 1 + index in made.dues */
};

/* First pass: a request whose result is not known yet. */
struct synth_request {
	uint64_t event; /* event_key() */
	uint32_t index;
	int opcode;
	uint32_t rkey;
	uint64_t addr, length;
	struct event_id post;
	int64_t time;
};

/* A recorded event and its time. */
struct synth_spot {
	struct event_id id; /* thread 0: none */
	int64_t time;
};

/* First pass: the state of a recorded queue pair since it was connected (synth_stop.c). */
struct synth_life {
	bool broken;              /* the queue pair has failed, or was set to ERR */
	uint32_t cause;           /* 1 + index in made.breaks: how the other end made it fail; 0 */
	struct synth_spot stop;   /* nothing arrived after this event */
	struct synth_spot last;   /* IBV_EVENT_QP_LAST_WQE_REACHED */
	int64_t alive;            /* it had not failed when a request was posted at this time, */
	struct event_id received; /* it had not failed when this receive was posted either */
	struct synth_early *recent; /* the last messages that were polled */
	size_t nrecent, room;
};

struct synth_plan {
	uint32_t object, process;
	enum ibv_qp_type type;
	uint32_t depth; /* depth of its send queue */
	uint32_t qkey;
	struct synth_link *links;
	size_t nlinks;
	size_t at; /* the number of links that were used: in the first pass, then in the replay */
	bool needed;
	uint32_t srq;               /* object: its SRQ; 0: it has none */
	int access;                 /* access flags for the other end */
	enum ibv_event_type breaks; /* how the other end made it fail, if known */
	struct synth_life life;     /* first pass: its life since it was connected */
	uint64_t sent_to, heard; /* datagrams from queue pairs of the trace: sent to it, received */
	/* in the first pass: the outstanding requests are [first, nopen) */
	struct synth_request *open;
	size_t first, nopen, room;
	struct synth_end *ends; /* one end; for datagrams, one for each number */
};

/* The completion of a read or an atomic whose bytes were recorded. */
struct synth_fetch {
	struct event_id poll;
	uint32_t index;
};

struct synthesized {
	pthread_mutex_t lock;
	struct synth_plan **plans; /* by object */
	struct synth_host *hosts;
	size_t nhosts;
	/* key of a request to the replay's key of the window that it invalidates */
	struct map closes;
	struct map failed; /* key of a request to enum ibv_wc_status */
	struct map taken;  /* key of a receive in error, if a message of the other end caused it */
	struct map reads;  /* key of a request to 1 + the completion in @fetched */
	struct synth_early *early;
	size_t nearly;
	struct map early_of; /* key of a completion to 1 + the message in @early */
	struct synth_break *breaks;
	size_t nbreaks;
	struct synth_due *dues;
	size_t ndues;
	struct synth_dues *due_lists;
	size_t ndue_lists;
	struct map due_at;     /* event to 1 + its list in @due_lists */
	struct map access;     /* region (object) to its access flags */
	struct map exclusives; /* completion queue (object) to its XRC SRQ */
	struct synth_fetch *fetched;
	size_t nfetched;
	struct ibv_ah_attr *avs;
	size_t navs;
	struct map av_of; /* address handle (object) to 1 + the index of its address */
};

static inline struct synth_plan *synth_plan_of(const struct replay *r, uint32_t object)
{
	struct synth_plan *plan =
		r->far && object < r->nreplicas && r->far->plans ? r->far->plans[object] : NULL;

	return plan && plan->needed ? plan : NULL;
}

/* synth_end.c */
void synth_free_end(struct synth_end *end);
void synth_close(struct synth_host *host);
struct synth_end *synth_datagram_end(struct replay *r, struct synth_plan *plan, uint32_t qpn);
struct synth_srq *synth_srq_of(struct synth_end *end, uint32_t number);
void synth_drain(struct synth_end *end);
/*
 * Wait briefly for the device. It need not wait for recorded events, so, unlike pace_wait(), this
 * does not let other threads in. False after @deadline.
 */
bool synth_wait(int64_t deadline);
int64_t synth_now(void);

/*
 * synth_message.c: send the messages that must come before a poll; send those that are due before
 * any event
 */
int synth_before_poll(struct replay *r, const struct trace_event *event);
int synth_before_due(struct replay *r, const struct trace_event *event);

/* synth_memory.c */
int synth_add_range(struct synth_host *host, uint32_t rkey, uint64_t addr, uint64_t length,
		    int access);
uint64_t synth_host_bytes(const struct synth_host *host);
int synth_fill_message(struct replay *r, const struct synth_end *end,
		       const struct trace_event *event, uint32_t index);
int synth_bind(struct replay *r, struct synth_end *end, const struct trace_event *event,
	       uint32_t index);
int synth_map_regions(struct synth_host *host);
void synth_unmap(struct synth_host *host);
