#pragma once
/*
 * The type, state and attributes of queue pairs, work queues and shared receive queues, from the
 * calls that created and modified them.
 *
 * Each queue whose creation is in the trace has a struct qp in its struct life (life->qp; NULL:
 * older than the trace, imported, inherited, or another kind of object). Values may be unknown: the
 * state is QP_UNKNOWN then, the bit of an attribute is not in `set`.
 *
 * The state follows every successful modify, including those of librdmacm; errors that a completion
 * or an asynchronous event reported; and ibv_query_qp(). On an iWARP device it is not known from
 * INIT on, until an error or a modify to ERR or RESET.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/lives.h"

struct args;
struct model;

enum { QP_UNKNOWN = -1, QP_GID = 16 };

/* struct ibv_ah_attr */
struct qp_path {
	uint8_t port, is_global, sgid_index, hop_limit, sl, traffic_class;
	uint8_t src_path_bits, static_rate;
	uint16_t dlid;
	uint32_t flow_label;
	uint8_t dgid[QP_GID];
	bool back; /* the path back to the sender of a datagram: sgid_index is not known */
};

struct qp_cap {
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data;
};

struct qp {
	int type;  /* ABI_QPT_*; QP_UNKNOWN: of a WQ or an SRQ, or not known */
	int state; /* ABI_QPS_*, of a WQ ABI_WQS_*; QP_UNKNOWN; prefer qp_state() */
	/* in ERR because of an error that was reported to the program, not by the program's call */
	bool error_reported;
	bool shared; /* from ibv_open_qp(): other processes may modify it, too */
	bool by_cm;  /* librdmacm modified it: some attributes are not the program's choice */
	bool iwarp;  /* from INIT on, the connection manager moves it, which no verb shows */
	/* consumed: receives consumed since its queue was full for the fill-th time */
	uint64_t fill, consumed;
	int status;          /* of the completion that reported the error; 0: it was an event */
	uint32_t changing;   /* modifies that have begun and not returned */
	struct moment moved; /* the call, poll or event that led to the state */
	int64_t settled;     /* when the last modify returned; 0 none has */
	int64_t reset;       /* when it was last put into RESET; 0 never */
	uint32_t polled;     /* completions of the poll that reported an error */
	uint32_t after[2];   /* requests posted since it went to ERR: receives, sends */
	bool marked[2];      /* in addition, a request without data was posted */
	bool judged;         /* the watcher was notified of posts in ERR */
	/* requests posted in ERR: a mistake, unless the program waits until they are flushed */
	struct {
		struct moment first; /* post of the first; id 0:0: there are none */
		uint32_t posted, flushed;
	} spare;
	struct {
		/* the last other thread that posted in ERR, and how often */
		uint32_t thread, posts;
		/* the thread that polled the error has polled another error since then */
		bool flushed;
	} late;
	bool bare;         /* librdmacm connected it while no receive had been posted to it */
	bool has_send_ops; /* made with send_ops_flags */
	uint64_t send_ops; /* enum ibv_qp_create_send_ops_flags */
	uint32_t opcodes;  /* bit N: its type allows opcode N; ~0: not known */
	struct qp_cap cap; /* as the device granted it; of an SRQ and a WQ max_recv_* */
	uint64_t send_cq, recv_cq, srq, pd, context; /* handles; 0: none, or not known */

	/* attributes: valid if `set` has the bit of enum ibv_qp_attr_mask (ABI_QP_*) */
	uint32_t set;
	uint32_t access; /* ABI_QP_ACCESS_FLAGS */
	uint32_t qkey, rq_psn, sq_psn, dest_qp_num;
	uint32_t pkey_index, port; /* port: ABI_QP_PORT */
	uint32_t path_mtu;         /* enum ibv_mtu: 1 is 256 bytes, 5 is 4096 */
	uint32_t max_rd_atomic;    /* ABI_QP_MAX_QP_RD_ATOMIC */
	uint32_t max_dest_rd_atomic, min_rnr_timer, timeout, retry_cnt, rnr_retry;
	struct qp_path path;   /* ABI_QP_AV */
	struct moment rtr;     /* the modify to RTR, which named the peer */
	struct moment refused; /* the last modify that failed, if none has succeeded since */
	int refused_to;        /* the state that this modify requested */
	int refused_error;     /* its errno */
};

/* The state of queue @life, or QP_UNKNOWN: not known, or a modify is in progress. */
static inline int qp_state(const struct life *life)
{
	return life->qp && !life->qp->changing ? life->qp->state : QP_UNKNOWN;
}

/* The time of enum ibv_rnr_nak_timer value @code, ns. */
int64_t qp_rnr_time(unsigned int code);

/*
 * The least time, ns, for which the device sends a request again before it gives up; 0: not known,
 * or without limit. IBA 9.7.6.1.3.
 */
int64_t qp_retry_time(const struct qp *qp);

/* "RTR"; "?" if invalid. */
const char *qp_state_name(int state);

/* "RC", "UD"...; "?" if invalid. */
const char *qp_type_name(int type);

/* Bit N: queue pairs of @type allow opcode N; ~0: not known. */
uint32_t qp_type_opcodes(int type);

/* A queue has been created by a call with these arguments. Returns 0 or -ENOMEM. */
int qp_note_created(struct life *life, enum verb verb, const struct args *args,
		    const struct args *out);

/* The arguments of a modify. */
struct qp_change {
	int to;        /* ABI_QPS_*, of a WQ ABI_WQS_*; QP_UNKNOWN: the state stays */
	int cur;       /* with ABI_QP_CUR_STATE */
	uint32_t mask; /* of a queue pair */
};

struct qp_change qp_read_change(const struct life *life, const struct args *args);

/* The address of a modify's arguments; false: they have none. */
bool qp_read_path(const struct args *args, struct qp_path *ret_path);

/* An address handle, @life, was created by @verb with @args. 0 or -ENOMEM. */
int qp_note_ah_created(struct life *life, enum verb verb, const struct args *args);

/* Call these when a modify of @life begins, and when it has returned, with success or not. */
void qp_begin_modify(struct life *life);
void qp_note_modified(struct life *life, const struct trace_event *event);

/* The program queried the attributes of @life: the state in the answer is valid. */
void qp_note_queried(struct life *life, const struct trace_event *event);

/*
 * The program was notified at @moment that @life has failed: by a completion with @status of a
 * request posted at @posted (0: not known), or by an event (0, INT64_MAX).
 */
void qp_note_failed(struct life *life, const struct moment *moment, int status, int64_t posted);

/*
 * The identifier of queue pair @qp if an event has told that its connection could not be made, and
 * the queue pair has changed its state no later than that; or NULL.
 */
const struct life *qp_find_unmade(const struct life *qp);
