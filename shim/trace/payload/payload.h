#pragma once
/*
 * The bytes that are sent and received, where the session asks for them.
 *
 * Where it does not, payload_on is false and nothing else of this is called
 * but by control verbs. Memory is read by the kernel (process_vm_readv(2)), so
 * that what cannot be read is an error and not a fault. Any thread.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/trace/ring/builder.h"
#include "shim/trace/objects/wr_list.h"

extern bool payload_on __attribute__((visibility("hidden")));

/* What the session keeps. */
extern struct payload_rule payload_rule __attribute__((visibility("hidden")));

/* A process begins to record; @child: it has its parent's memory. */
void payload_begin(const struct payload_rule *rule, bool child);

/*
 * Before a list is posted. @taken: it is recorded, so its payload is, too.
 * True: some was written, and the post is to say so (EVENT_CARRIES).
 */
bool payload_sends(struct wr_list *list, const struct ibv_qp *qp, const struct ibv_send_wr *wr,
		   bool taken);
void payload_receives(struct wr_list *list, const void *queue, const struct ibv_recv_wr *wr);

/* It failed: what is not posted from @bad on is forgotten again. */
void payload_refused_sends(const struct wr_list *list, const struct ibv_qp *qp, const void *bad);
void payload_refused_receives(const struct wr_list *list, const void *queue, const void *bad);

/* Inline data is given to the request that was begun last. */
void payload_inline(const struct ibv_qp_ex *qp, struct builder *b, const struct event_sge *sge);

/* What was built is posted; or was not after all. */
bool payload_built(const struct ibv_qp *qp, struct builder *b, bool taken);
void payload_refused_built(const struct ibv_qp *qp, const struct builder *b);

/*
 * Completions of one poll. @seq: of its event, of which they are all; 0: it is
 * not recorded.
 */
void payload_completions(const struct ibv_cq *cq, const struct ibv_wc *wc, uint32_t nwc,
			 uint32_t seq);

/* What the completion that this thread takes next does not say. */
enum payload_unsaid { PAYLOAD_NO_LENGTH = 1, PAYLOAD_NO_QP_NUM = 2 };
void payload_unsaid(unsigned int what);
