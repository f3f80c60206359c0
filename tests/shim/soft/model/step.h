#pragma once
/*
 * One step of a sequence: a verb that one of two processes calls.
 *
 * Objects are named by slots, memory by offsets, so that a step means the
 * same in every run, and a sequence still makes sense when steps are taken
 * out of it: a step whose objects are not there does nothing.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <infiniband/verbs.h>

enum {
	PROCS = 2,
	QPS = 4, /* of both processes together */
	CQS = 3, /* the following in each process */
	SRQS = 2,
	MRS = 4,
	PDS = 2,
	AREA = 128 << 10, /* bytes to be registered */
	LIST_MAX = 4,     /* requests in one post */
	SGE_MAX = 3,
	POLL_MAX = 256,
	EVENT_MAX = 64,
	NONE = -1,
	UNTOUCHED = 4242, /* errno before each verb */
};

enum op {
	OP_END,  /* nothing more to do */
	OP_FILL, /* the program writes to its memory */
	OP_CREATE_CQ,
	OP_RESIZE_CQ,
	OP_DESTROY_CQ,
	OP_CREATE_SRQ,
	OP_MODIFY_SRQ,
	OP_QUERY_SRQ,
	OP_DESTROY_SRQ,
	OP_REG_MR,
	OP_REREG_MR,
	OP_DEREG_MR,
	OP_DEALLOC_PD, /* and allocates it again, if that succeeds */
	OP_CREATE_QP,
	OP_MODIFY_QP,
	OP_QUERY_QP,
	OP_DESTROY_QP,
	OP_POST_SEND,
	OP_POST_RECV,
	OP_POST_SRQ_RECV,
	OP_POLL,
	OP_DRAIN, /* polls until arg.poll.num have come */
	OP_NOTIFY,
	OP_CQ_EVENTS, /* takes and acknowledges all available ones */
	OP_ASYNC_EVENTS,
	OP_NUDGE, /* an empty poll: a call that lets waiting requests advance */
	OPS
};

/* Which of a region's keys. */
enum key { KEY_RIGHT, KEY_OTHER /* rkey for lkey */, KEY_OLD, KEYS };

struct piece {
	uint8_t mr;
	uint8_t key;
	uint32_t generation; /* the model's, since the post */
	uint32_t off;        /* into the area, not the region */
	uint32_t len;
};

struct request {
	uint64_t wr_id;
	uint8_t opcode; /* enum ibv_wr_opcode */
	uint8_t flags;  /* enum ibv_send_flags */
	uint8_t num_sge;
	struct piece sge[SGE_MAX];
	struct piece remote;
	uint32_t imm;
	uint64_t compare_add;
	uint64_t swap;
	/* of datagrams: to the queue pair in this slot */
	uint8_t dest;
	bool other_qkey;
	int dest_life; /* the model's, since the post */
};

/* How requests are posted: ibv_post_send(), or ibv_wr_start() and so on. */
enum how { HOW_LIST, HOW_BUILDER, HOW_ABORT, HOWS };

/* Which attributes a modify gives. */
enum mask { MASK_STATE, MASK_FULL /* all that the way to the state needs */, MASK_ACCESS, MASKS };

/* What is wrong with a modify. */
enum fault { FAULT_NONE, FAULT_MISSING, FAULT_EXTRA, FAULT_VALUE, FAULTS };

struct step {
	uint8_t op;
	uint8_t proc;
	uint8_t slot; /* of the object */
	bool added;   /* by the runner, to wait */
	union {
		struct {
			uint32_t off, len;
			uint64_t seed;
		} fill;
		struct {
			int32_t cqe;
			bool extended;
		} cq;
		/* a modify sets the size, or else the limit */
		struct {
			int32_t max_wr, limit, pd;
		} srq;
		struct {
			uint32_t off, len, access;
			int32_t pd, flags;
		} mr;
		struct {
			int32_t pd, send_cq, recv_cq, srq;
			int32_t max_send_wr, max_recv_wr, max_inline;
			int32_t type; /* enum ibv_qp_type */
			bool sig_all, builders;
		} qp;
		struct {
			int32_t to; /* enum ibv_qp_state */
			int32_t mask, fault;
			int32_t dest; /* slot */
			uint32_t access;
			int32_t rnr_retry, timeout, retry_cnt, rd;
		} modify;
		struct {
			int32_t peer; /* whose memory: the process */
			int32_t how;
			bool datagrams;
		} send;
		struct {
			int32_t num;
		} poll;
		struct {
			bool solicited;
		} notify;
	} arg;
	uint8_t num_wr;
	struct request wr[LIST_MAX];
};

/* A completion as the program sees it, the queue pair by its slot. */
struct completion {
	uint64_t wr_id;
	int16_t status;
	int16_t opcode;
	int16_t qp;
	int16_t src_qp; /* of datagrams */
	uint16_t wc_flags;
	uint32_t byte_len;
	uint32_t imm;
	uint32_t vendor_err;
};

struct happening {
	int16_t type; /* enum ibv_event_type */
	int16_t slot; /* of the object that the type is about */
};

struct result {
	int32_t ret;   /* of the verb; objects: 0 or -1 */
	int32_t err;   /* errno, where the verb sets it */
	int32_t left;  /* errno in any case; not judged, but shown */
	int32_t bad;   /* index of *bad_wr, or NONE */
	int32_t state; /* queries: of a queue pair; the limit of an SRQ */
	int32_t dest;  /* slot */
	int32_t num;
	union {
		struct completion wc[POLL_MAX];
		struct happening event[EVENT_MAX];
	};
};

uint32_t piece_total(const struct piece *sge, int num);

static inline bool op_is_post(int op)
{
	return op == OP_POST_SEND || op == OP_POST_RECV || op == OP_POST_SRQ_RECV;
}

/* A line each, without its end; one run's are another's for the same seed. */
void step_print(FILE *to, const struct step *step);
void result_print(FILE *to, const struct step *step, const struct result *r);
void completion_print(FILE *to, const struct completion *wc);
