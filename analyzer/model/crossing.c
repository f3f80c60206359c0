/*
 * Bytes that requests of different queues have in common
 *
 * 	hash of process, address, kind --> the latest such request
 *
 * Requests of one queue pair, whose order is known, are in overlap.c.
 */
#include "analyzer/model/crossing.h"

#include <stdlib.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/overlap.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue_priv.h"

enum {
	SEARCH_REQUESTS = 512, /* sends and receives of a queue */
	SLOTS = 1024,
	FLAG = 64, /* bytes: a flag, a counter or a header, overwritten on purpose */
};

enum kind { NOTHING, SENT, POSTED, WRITTEN, PLACED, KINDS };

/* A request, and where its bytes are. */
struct crossing {
	enum kind kind;
	uint32_t process;
	uint64_t addr, length;
	uint64_t from;                /* PLACED: the buffer that is written */
	struct queue *queue;          /* of the request; a reference */
	struct queue_request request; /* without its SGEs */
	uint32_t reader;              /* object: the queue pair to which the data are written */
	uint64_t taken;               /* messages whose completions its queue pair had polled */
};

static struct crossing *slot_of(struct model *model, enum kind kind, uint32_t process,
				uint64_t addr)
{
	uint64_t hash = map_hash(addr * KINDS + kind + ((uint64_t)process << 48));

	if (!model->crossings)
		model->crossings = calloc(SLOTS, sizeof(*model->crossings));
	return model->crossings ? &model->crossings[hash % SLOTS] : NULL;
}

/* The last request of @kind there, if its queue still exists and its contents are certain. */
static const struct crossing *find_crossing(struct model *model, enum kind kind, uint32_t process,
					    uint64_t addr)
{
	const struct crossing *found = slot_of(model, kind, process, addr);

	return found && found->kind == kind && found->process == process && found->addr == addr &&
			       found->queue->owner && !found->queue->doubt
		       ? found
		       : NULL;
}

static void store_crossing(struct model *model, struct crossing stored)
{
	struct crossing *slot = slot_of(model, stored.kind, stored.process, stored.addr);

	if (!slot)
		return; /* out of memory: a finding is missing */
	queue_put(slot->queue);
	*slot = stored;
	queue_get(slot->queue);
}

void crossing_fini(struct model *model)
{
	for (size_t i = 0; model->crossings && i < SLOTS; i++)
		queue_put(model->crossings[i].queue);
	free(model->crossings);
}

static void store_pair(struct overlap_pair *pair, const struct crossing *earlier,
		       const struct queue *queue, const struct queue_request *later,
		       uint64_t length)
{
	if (pair->n++)
		return;
	*pair = (struct overlap_pair){
		.n = 1,
		.earlier = queue_moment(earlier->queue, &earlier->request),
		.later = queue_moment(queue, later),
		.earlier_id = earlier->request.wr_id,
		.later_id = later->wr_id,
		.earlier_opcode = earlier->request.opcode,
		.later_opcode = later->opcode,
		.addr = earlier->addr,
		.length = length < earlier->length ? length : earlier->length,
		.index = later->index,
		.earlier_index = earlier->request.index,
		.other = earlier->queue->owner->id,
	};
}

static bool is_outstanding(const struct crossing *crossing)
{
	return queue_find(crossing->queue, queue_id(&crossing->request), crossing->request.index) >=
	       0;
}

static bool is_reliable(const struct life *qp)
{
	return qp->kind == OBJECT_qp && qp->qp && qp->qp->type == ABI_QPT_RC;
}

/* Has no message of the peer that was polled since shown that the send has arrived? */
static bool is_unanswered(struct model *model, const struct crossing *sent)
{
	const struct life *qp = sent->queue->owner;

	return (qp->taken == sent->taken && !qp->unwatched) ||
	       overlap_is_unanswered(model, sent->queue, &sent->request);
}

/* Does @receive belong to the last post of its queue, made after a completion was polled? */
static bool is_reposted(const struct crossing *receive)
{
	const struct queue *queue = receive->queue;
	const struct queue_request *last = queue_at(queue, queue->count - 1);

	return queue->polled && receive->request.time > queue->polled &&
	       receive->request.n == last->n && receive->request.thread == last->thread;
}

/* Is a receive posted into a buffer from which another queue pair still sends? */
static void check_receive(struct model *model, struct queue *queue,
			  const struct queue_request *receive)
{
	const struct sge *sge = queue_sge(queue, receive, 0);
	uint32_t process = queue->owner->process;
	const struct crossing *sent = find_crossing(model, SENT, process, sge->addr);

	if (sent && sent->queue->owner != queue->owner && is_outstanding(sent) &&
	    is_unanswered(model, sent))
		store_pair(&queue->overlaps->kept, sent, queue, receive, sge->length);
	store_crossing(model, (struct crossing){ .kind = POSTED,
						 .process = process,
						 .addr = sge->addr,
						 .length = sge->length,
						 .queue = queue,
						 .request = *receive });
}

/* Does a queue pair send from a buffer that another one, or an SRQ, has just posted again? */
static void check_send(struct model *model, struct queue *queue, const struct queue_request *send)
{
	const struct sge *sge = queue_sge(queue, send, 0);
	const struct life *qp = queue->owner;
	const struct crossing *receive = find_crossing(model, POSTED, qp->process, sge->addr);

	if (receive && receive->queue->owner != qp && is_outstanding(receive) &&
	    is_reposted(receive))
		store_pair(&queue->overlaps->lent, receive, queue, send, sge->length);
	if (send->signalled)
		store_crossing(model, (struct crossing){ .kind = SENT,
							 .process = qp->process,
							 .addr = sge->addr,
							 .length = sge->length,
							 .queue = queue,
							 .request = *send,
							 .taken = qp->taken });
}

static uint64_t count_bytes(const struct queue *queue, const struct queue_request *request)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < request->nsge; i++)
		bytes += queue_sge(queue, request, i)->length;
	return bytes;
}

/* Has the peer polled no completion of the receive that @written takes? */
static bool is_unread(const struct model *model, const struct crossing *written)
{
	const struct life *reader;
	uint64_t life;

	if (!map_get(&model->by_id, written->reader, &life))
		return false;
	reader = (const struct life *)(uintptr_t)life;
	return reader->state == LIFE_LIVE && !reader->unwatched && reader->rq &&
	       !reader->rq->doubt && reader->taken < written->request.message;
}

/*
 * Does a write that consumes a receive overwrite an earlier one whose receive was not polled yet?
 * If the writes of one queue pair all go to the same place, the program may be a benchmark: nobody
 * reads the data.
 */
static void check_write(struct model *model, struct queue *queue, const struct queue_request *write)
{
	struct overlaps *overlaps = queue->overlaps;
	const struct life *qp = queue->owner;
	const struct peer *other = peer_find_other(&model->peers, qp->peer);
	uint64_t bytes = count_bytes(queue, write);
	const struct crossing *earlier;

	if (bytes <= FLAG || !other || !other->id || qp_state(qp) != ABI_QPS_RTS ||
	    peer_slack(&model->peers, qp->process, other->process))
		return;
	earlier = find_crossing(model, WRITTEN, other->process, write->remote_addr);
	if (earlier && is_unread(model, earlier)) {
		if (earlier->queue == queue)
			store_pair(&overlaps->overrun, earlier, queue, write, bytes);
		else if (earlier->queue->overlaps && !earlier->queue->overlaps->overrun.n)
			store_pair(&overlaps->trampled, earlier, queue, write, bytes);
	}
	if (!overlaps->imm_addr)
		overlaps->imm_addr = write->remote_addr;
	overlaps->imm_apart |= overlaps->imm_addr != write->remote_addr;
	store_crossing(model, (struct crossing){ .kind = WRITTEN,
						 .process = other->process,
						 .addr = write->remote_addr,
						 .length = bytes,
						 .queue = queue,
						 .request = *write,
						 .reader = other->id });
}

/*
 * Does a WRITE go to bytes to which another queue pair writes, from another buffer, at that moment?
 */
static void check_place(struct model *model, struct queue *queue, const struct queue_request *write)
{
	struct overlaps *overlaps = queue->overlaps;
	const struct life *qp = queue->owner;
	const struct peer *other = peer_find_other(&model->peers, qp->peer);
	const uint64_t from = queue_sge(queue, write, 0)->addr;
	uint64_t bytes = count_bytes(queue, write);
	const struct crossing *earlier;

	if (bytes <= FLAG || !other || !other->id || qp_state(qp) != ABI_QPS_RTS)
		return;
	earlier = find_crossing(model, PLACED, other->process, write->remote_addr);
	if (earlier && earlier->queue != queue && earlier->from != from &&
	    is_outstanding(earlier) && is_unanswered(model, earlier))
		store_pair(&overlaps->collided, earlier, queue, write, bytes);
	if (!overlaps->plain_addr)
		overlaps->plain_addr = write->remote_addr;
	overlaps->plain_apart |= overlaps->plain_addr != write->remote_addr;
	store_crossing(model, (struct crossing){ .kind = PLACED,
						 .process = other->process,
						 .addr = write->remote_addr,
						 .length = bytes,
						 .from = from,
						 .queue = queue,
						 .request = *write,
						 .taken = qp->taken });
}

static bool sends_buffer(const struct queue_request *request)
{
	return queue_takes_receive(request->opcode) && !(request->flags & ABI_SEND_INLINE);
}

void crossing_check_request(struct model *model, struct queue *queue)
{
	const struct queue_request *request = queue_at(queue, queue->count - 1);
	const struct life *owner = queue->owner;

	if (!owner || !queue->overlaps || queue->doubt || queue->draining || !request->nsge)
		return;
	if (!queue->send) {
		if (queue->posted <= SEARCH_REQUESTS)
			check_receive(model, queue, request);
	} else if (is_reliable(owner)) {
		if (queue->posted <= SEARCH_REQUESTS && sends_buffer(request))
			check_send(model, queue, request);
		if (request->opcode == ABI_WR_RDMA_WRITE_WITH_IMM)
			check_write(model, queue, request);
		else if (request->opcode == ABI_WR_RDMA_WRITE && queue->posted <= SEARCH_REQUESTS)
			check_place(model, queue, request);
	}
}
