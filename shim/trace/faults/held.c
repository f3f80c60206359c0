/*
 * Requests of builders that are held back
 *
 * A builder's batch cannot stay open: the provider may hold a lock of the queue until it is
 * complete. But each request can also be posted by ibv_post_send(): the thread of postponed.c does
 * that.
 */
#include "shim/trace/faults/held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/trace/faults/original.h"
#include "shim/trace/faults/plan.h"
#include "shim/trace/faults/posts.h"
#include "shim/trace/faults/postponed.h"

struct held_request {
	struct held_request *next;
	struct ibv_send_wr wr;
	struct ibv_sge *sges;
	char *data, *header; /* copies of the data and the header */
	uint64_t ns;
	size_t pacer;
};

struct ibv_send_wr *held_add(struct held_batch *held, const struct ibv_qp_ex *qp, int opcode)
{
	struct held_request *request = calloc(1, sizeof(*request));

	held->failed |= !request;
	if (!request)
		return NULL;
	request->ns = held->ns;
	request->pacer = held->pacer;
	request->wr.wr_id = qp->wr_id;
	request->wr.opcode = (enum ibv_wr_opcode)opcode;
	request->wr.send_flags = qp->wr_flags & ~(unsigned int)IBV_SEND_INLINE;
	if (held->last)
		held->last->next = request;
	else
		held->first = request;
	held->last = request;
	return &request->wr;
}

void held_set_sges(struct held_batch *held, size_t n, const struct ibv_sge *sges)
{
	struct held_request *request = held->last;

	if (!request || !n)
		return;
	free(request->sges);
	request->sges = calloc(n, sizeof(*sges));
	held->failed |= !request->sges;
	if (!request->sges)
		return;
	memcpy(request->sges, sges, n * sizeof(*sges));
	request->wr.sg_list = request->sges;
	request->wr.num_sge = (int)n;
}

/* Copy all buffers, and store the copy as one element. */
void held_set_data(struct held_batch *held, size_t n, const struct ibv_data_buf *bufs)
{
	struct held_request *request = held->last;
	size_t total = 0;
	char *to;

	for (size_t i = 0; i < n; i++)
		total += bufs[i].length;
	if (!request)
		return;
	free(request->data);
	request->data = to = malloc(total ?: 1);
	held->failed |= !to;
	for (size_t i = 0; to && i < n; to += bufs[i++].length)
		memcpy(to, bufs[i].addr, bufs[i].length);
	request->wr.send_flags |= IBV_SEND_INLINE;
	held_set_sges(held, 1,
		      &(const struct ibv_sge){ (uintptr_t)request->data, (uint32_t)total, 0 });
}

void held_set_header(struct held_batch *held, struct ibv_send_wr *wr, const void *header,
		     uint16_t bytes, uint16_t mss)
{
	char *copy = malloc(bytes ?: 1);

	held->failed |= !copy;
	held->last->header = copy;
	if (copy)
		memcpy(copy, header, bytes);
	wr->tso.hdr = copy;
	wr->tso.hdr_sz = bytes;
	wr->tso.mss = mss;
}

void held_set_address(struct held_batch *held, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	if (!held->last)
		return;
	held->last->wr.wr.ud.ah = ah;
	held->last->wr.wr.ud.remote_qpn = qpn;
	held->last->wr.wr.ud.remote_qkey = qkey;
}

void held_set_srqn(struct held_batch *held, uint32_t srqn)
{
	if (held->last)
		held->last->wr.qp_type.xrc.remote_srqn = srqn;
}

/* How long the request is delayed, ns. */
static uint64_t find_delay(const struct held_request *request, const struct ibv_qp *qp)
{
	struct planned_fault planned;

	if (!request->pacer)
		return request->ns;
	planned = plan_pace(request->pacer, posts_bytes(request->wr.sg_list, request->wr.num_sge));
	if (planned.fault.kind != FAULT_DELAY)
		return 0;
	posts_note_delay(&planned, qp->qp_num);
	return planned.fault.ns;
}

int held_postpone(const struct held_batch *held, struct ibv_qp *qp)
{
	post_send_fn *behind = original_of_context(qp->context)->ops.post_send;
	int err = held->failed ? ENOMEM : 0;

	for (const struct held_request *r = held->first; r && !err; r = r->next)
		err = postponed_add_send(qp, &r->wr, find_delay(r, qp), behind);
	return err;
}

void held_drop(struct held_batch *held)
{
	struct held_request *request;

	while ((request = held->first)) {
		held->first = request->next;
		free(request->sges);
		free(request->data);
		free(request->header);
		free(request);
	}
	*held = (struct held_batch){ 0 };
}
