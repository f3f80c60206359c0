#pragma once
/*
 * Capture of the bytes that are sent and received, if the session requests it.
 *
 * Otherwise payload_on is false and only control verbs call these functions. The kernel reads the
 * memory (process_vm_readv(2)), so that unreadable memory causes an error and not a fault. Any
 * thread.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/trace/objects/queues.h"
#include "shim/trace/objects/wr_list.h"
#include "shim/trace/ring/builder.h"

extern bool payload_on __attribute__((visibility("hidden")));

/* How much of the payload is recorded. */
extern struct payload_rule payload_rule __attribute__((visibility("hidden")));

/* Recording of a process begins; @child: it has its parent's memory. */
void payload_begin(const struct payload_rule *rule, bool child);

/*
 * A list will be posted. @taken: the post is recorded, with its payload. Returns true if payload
 * was written: then the post event has the flag EVENT_CARRIES.
 */
bool payload_capture_sends(struct wr_list *list, const struct ibv_qp *qp,
			   const struct ibv_send_wr *wr, bool taken);
void payload_note_receives(struct wr_list *list, const void *queue, const struct ibv_recv_wr *wr);

/* The post failed: forget the requests from @bad on, which were not posted. */
void payload_forget_sends(const struct wr_list *list, const struct ibv_qp *qp, const void *bad);
void payload_forget_receives(const struct wr_list *list, const void *queue, const void *bad);

/* Capture the inline data of the request that was begun last. */
void payload_capture_inline(const struct ibv_qp_ex *qp, struct builder *b,
			    const struct event_sge *sge);

/* The built requests will be posted. payload_forget_built(): they were not posted. */
bool payload_capture_built(struct wr_list *list, const struct ibv_qp *qp, struct builder *b,
			   bool taken);
void payload_forget_built(const struct ibv_qp *qp, const struct builder *b);

/* The post has returned. */
static inline void payload_end_post(struct wr_list *list)
{
	if (__builtin_expect(list->queue != NULL, 0))
		queue_end_post(list->queue);
}

/*
 * Capture the payload of the completions of one poll. @seq: number of the poll's event, which has
 * all these completions; 0: the poll is not recorded.
 */
void payload_capture_completions(const struct ibv_cq *cq, const struct ibv_wc *wc, uint32_t nwc,
				 uint32_t seq);

/* Fields that the next completion of this thread lacks. */
enum payload_set_missing { PAYLOAD_NO_LENGTH = 1, PAYLOAD_NO_QP_NUM = 2 };
void payload_set_missing(unsigned int what);
