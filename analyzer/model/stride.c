/*
 * RDMA WRITEs in a row whose local address advances while the remote one does not
 */
#include "analyzer/model/stride.h"

#include <stdlib.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/overlap.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/queue_priv.h"

enum {
	LOOK = 512,   /* requests of a queue */
	COUNTER = 64, /* bytes: a flag, a counter or a header, overwritten on purpose */
};

static int64_t distance_of(int64_t value)
{
	return value < 0 ? -value : value;
}

static bool is_same_shape(const struct stride_request *a, const struct stride_request *b)
{
	return a->rkey == b->rkey && a->length == b->length;
}

/*
 * Must the peer's bytes be others? Those of a log may end with a mark, which the next record
 * overwrites: at least a quarter of a WRITE must be overwritten.
 */
static bool remote_stays(const struct stride_request *request, int64_t local, int64_t remote)
{
	const int64_t length = request->length;

	if (distance_of(local) < length)
		return false;
	return length - distance_of(remote) >= length / 4 && length - distance_of(remote) > COUNTER;
}

/* Is @request outstanding, and has no message shown that it is done? */
static bool is_outstanding(struct model *model, const struct queue *queue,
			   const struct stride_request *request)
{
	int64_t at = queue_find(queue, request->moment.id, request->index);

	return at >= 0 && overlap_is_unanswered(model, queue, queue_at(queue, (uint32_t)at));
}

static void add_to_row(struct stride *stride, const struct stride_request *request)
{
	int64_t local = (int64_t)(request->local - stride->last.local);
	int64_t remote = (int64_t)(request->remote - stride->last.remote);

	if (!remote_stays(request, local, remote)) {
		stride->row = 0;
		return;
	}
	if (!stride->row || local != stride->local || remote != stride->remote) {
		stride->row = 0;
		stride->begin = stride->last;
		stride->local = local;
		stride->remote = remote;
	}
	if (++stride->row <= stride->longest)
		return;
	stride->longest = stride->row;
	stride->first = stride->begin;
	stride->longest_local = local;
	stride->longest_remote = remote;
}

static bool is_examined(const struct queue *queue, const struct queue_request *request)
{
	return queue->owner && queue->owner->kind == OBJECT_qp && !queue->doubt &&
	       !queue->draining && queue->posted <= LOOK && request->nsge == 1 &&
	       request->opcode == ABI_WR_RDMA_WRITE &&
	       queue_sge(queue, request, 0)->length > COUNTER;
}

void stride_check_request(struct model *model, struct queue *queue)
{
	const struct queue_request *last = queue_at(queue, queue->count - 1);
	struct stride_request request;

	if (!is_examined(queue, last))
		return;
	if (!queue->stride && !(queue->stride = calloc(1, sizeof(*queue->stride))))
		return; /* if out of memory, one hazard is missing */
	request = (struct stride_request){ .moment = queue_moment(queue, last),
					   .index = last->index,
					   .rkey = last->rkey,
					   .length = queue_sge(queue, last, 0)->length,
					   .local = queue_sge(queue, last, 0)->addr,
					   .remote = last->remote_addr };
	if (is_same_shape(&request, &queue->stride->last) &&
	    is_outstanding(model, queue, &queue->stride->last))
		add_to_row(queue->stride, &request);
	else
		queue->stride->row = 0;
	queue->stride->last = request;
}
