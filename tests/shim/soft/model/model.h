#pragma once
/*
 * The specified behaviour of verbs: a device of plain data, for one sequence.
 *
 * It follows the manual pages and the InfiniBand specification and is independent of the tested
 * device. If one outcome is specified it is computed; if several are (the order of completions of
 * different queues on one completion queue), any is accepted, and the model continues from it.
 * Later results, because a sender waited, are marked so.
 *
 * Not thread-safe.
 */
#include "tests/shim/soft/model/step.h"

enum {
	SQ_MAX = 64,
	RQ_MAX = 64,
	CQ_MAX = 512,
	/* what model_mem says of a byte, beside the number of a delivery */
	BYTE_KNOWN = 0,
	BYTE_UNKNOWN = -1,   /* until it is written */
	BYTE_CONTESTED = -2, /* two writers: never known again */
};

struct payload {
	uint32_t len;
	uint8_t *bytes;
	uint8_t *unknown;
};

struct model_mr {
	bool live;
	uint32_t generation; /* of its keys */
	bool broken;         /* "shouldn't be used": ibv_rereg_mr(3) */
	uint32_t off, len, access;
	int pd;
};

struct model_wc {
	struct completion wc;
	bool recv, datagram;
	int src_life;         /* of its sender */
	int srq;              /* or NONE */
	uint32_t retire;      /* requests before this one are free */
	int delivery;         /* of bytes that the poll must see, or 0 */
	struct request where; /* the buffers of this request */
	struct payload payload;
};

struct model_cq {
	bool live;
	int cqe;
	int num;
	int arrived;         /* by themselves, in this step */
	int armed;           /* 0, 1 solicited, 2 any */
	int events;          /* not yet taken */
	struct model_wc *wc; /* CQ_MAX, in order of arrival */
};

struct model_rq {
	int max_wr;
	uint32_t head, taken, retired; /* only grow */
	struct request wr[RQ_MAX];
};

struct model_srq {
	bool live;
	int pd, limit;
	int outstanding; /* posted, its completion not polled */
	struct model_rq rq;
};

struct model_qp {
	bool live;
	int type; /* enum ibv_qp_type */
	int proc, pd, send_cq, recv_cq, srq;
	bool builders;
	int max_inline;
	bool sig_all;
	int state;
	int life;  /* of the object: its number's */
	int epoch; /* grows with each reset, too */
	int dest, dest_life, dest_epoch;
	uint32_t access;
	int rnr_retry, max_rd, max_dest_rd;
	bool established;
	bool waits; /* the head of the send queue, for a receive */
	bool ran;   /* by itself, in this step */
	int max_send_wr;
	uint32_t head, next, retired;
	struct request sq[SQ_MAX];
	struct payload inlined[SQ_MAX]; /* read when it was posted */
	struct model_rq rq;
};

struct model {
	struct model_cq cq[PROCS][CQS];
	struct model_srq srq[PROCS][SRQS];
	struct model_mr mr[PROCS][MRS];
	struct model_qp qp[QPS];
	struct happening event[PROCS][EVENT_MAX];
	int num_events[PROCS];
	uint8_t *bytes[PROCS]; /* AREA each */
	int32_t *owner[PROCS]; /* a byte's: BYTE_..., or a delivery */
	int deliveries;
	int lives;
	bool alone;   /* current changes happen by themselves */
	bool overrun; /* after an overrun any completion may be missing */
	int lags;     /* in this step: lost, but not at once */
};

struct model *model_new(void);
void model_free(struct model *m); /* accepts NULL */

/* Start again, with the bytes of @seed in memory. */
void model_reset(struct model *m, uint64_t seed);

/* Do its objects exist, and do verbs define the result? */
bool model_applies(struct model *m, const struct step *step);

/*
 * Do @step. For polls and events, which depend on choices of the device, @got is needed and
 * *@expect is the expected result; for others only *@expect is written. Returns NULL, or the error
 * of @got.
 */
const char *model_step(struct model *m, const struct step *step, const struct result *got,
		       struct result *expect);

/* Does the byte at @off have to be model->bytes[]? */
static inline bool model_knows(const struct model *m, int proc, uint32_t off)
{
	return m->owner[proc][off] == BYTE_KNOWN;
}

/* Between the model's parts. */
struct where {
	int proc;
	const struct piece *piece;
	int num;
};

uint64_t model_random(uint64_t *state);
void memory_fill(struct model *m, int proc, uint32_t off, uint32_t len, uint64_t seed);
struct payload memory_gather(struct model *m, struct where from, uint32_t len);
void memory_scatter(struct model *m, struct where to, const struct payload *p);
bool memory_overlaps(struct where a, struct where b);
struct payload payload_copy(const struct payload *p);
void payload_forget(struct payload *p); /* what its bytes are */
void payload_free(struct payload *p);
/* The bytes of @wc are in flight; then they are in memory. */
void memory_deliver(struct model *m, struct model_wc *wc);
void memory_land(struct model *m, int proc, struct model_wc *wc);

/* The effect of each verb: @r is zeroed, and gets only what differs. */
void model_do(struct model *m, const struct step *s, struct result *r);
void model_post_send(struct model *m, const struct step *s, struct result *r);
void model_post_recv(struct model *m, const struct step *s, struct result *r);
void model_post_srq_recv(struct model *m, const struct step *s, struct result *r);
void model_give_back(struct model *m, const struct model_wc *wc);
void model_remove_wc(struct model_cq *cq, int i);

void model_process_event(struct model *m, int proc, int type, int slot);
void model_complete(struct model *m, int proc, int cq, struct model_wc wc, bool solicited);
void model_flush_rq(struct model *m, struct model_qp *qp);
void model_fail(struct model *m, struct model_qp *qp, int event);
/* Does this type of queue pair have @opcode? */
bool model_has_objects(int type, int opcode);
struct model_rq *model_rq_of(struct model *m, struct model_qp *qp);
/* Execute all requests that can be executed. */
void model_run(struct model *m, struct model_qp *qp);
bool model_mr_allows(const struct model *m, int proc, int pd, uint32_t access,
		     const struct piece *piece, bool remote);
void model_purge(struct model *m, int qp);
