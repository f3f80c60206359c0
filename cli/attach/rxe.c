/*
 * Reads the queues of Soft-RoCE (rxe) from the memory of a process
 *
 *	struct rxe_qp of the provider:  struct verbs_qp, ..., receive queue, ..., send queue
 *	struct rxe_cq:                  struct verbs_cq, ..., queue
 *	a queue:                        a mapping of the uverbs device, which begins as struct
 *					rxe_queue_buf
 *
 * The provider's structures differ between releases, but not the order of their queues: they are
 * the first pointers to such mappings behind the object's beginning. The kernel's header defines
 * the rest. The program may write anything into these mappings, so every number is checked.
 */
#include "cli/attach/rxe.h"

#include <string.h>
#include <rdma/rdma_user_rxe.h>

#include "cli/attach/facts.h"

enum {
	OBJECT_WORDS = 128, /* more than the provider's structures have before their last queue */
	RINGS = 2,
	ELEMENT_BITS_MAX = 12,
	ENTRIES_MAX = 1 << 20,
};

struct ring {
	uint64_t at;
	struct rxe_queue_buf head;
};

static uint32_t count_ring(const struct ring *ring)
{
	return (ring->head.producer_index - ring->head.consumer_index) & ring->head.index_mask;
}

static bool read_ring(const struct facts *facts, uint64_t at, struct ring *ret_ring)
{
	static const char device[] = "/dev/infiniband/uverbs";
	const struct target_map *map = target_map_at(&facts->process, at);
	uint32_t entries;

	if (!map || map->start != at || strncmp(map->path, device, sizeof(device) - 1) != 0 ||
	    !memory_get(&facts->memory, at, &ret_ring->head, sizeof(ret_ring->head)))
		return false;
	ret_ring->at = at;
	entries = ret_ring->head.index_mask + 1;
	return entries && !(entries & (entries - 1)) && entries <= ENTRIES_MAX &&
	       ret_ring->head.log2_elem_size <= ELEMENT_BITS_MAX;
}

/* The first rings to which the object at @at has pointers. Returns their number. */
static size_t find_rings(const struct facts *facts, uint64_t at, struct ring rings[RINGS])
{
	uint64_t words[OBJECT_WORDS];
	size_t got = facts->memory.read(&facts->memory, at, words, sizeof(words)), n = 0;

	for (size_t i = 0; i < got / sizeof(*words) && n < RINGS; i++)
		n += read_ring(facts, words[i], &rings[n]);
	return n;
}

/* Does the first request of the send queue need a receive of the peer? */
static bool needs_receive(const struct facts *facts, const struct ring *ring)
{
	struct rxe_send_wr wr;
	uint64_t i = ring->head.consumer_index & ring->head.index_mask;
	uint64_t at = ring->at + sizeof(ring->head) + (i << ring->head.log2_elem_size);

	if (!count_ring(ring) || !memory_get(&facts->memory, at, &wr, sizeof(wr)))
		return false;
	return wr.opcode == IBV_WR_SEND || wr.opcode == IBV_WR_SEND_WITH_IMM ||
	       wr.opcode == IBV_WR_SEND_WITH_INV || wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

void rxe_read_qp(const struct facts *facts, struct handle_qp *qp)
{
	struct ring rings[RINGS];
	const size_t send = qp->srq ? 0 : 1; /* with an SRQ it has no receive queue */

	if (find_rings(facts, qp->at, rings) <= send)
		return;
	qp->rings = (struct handle_rings){
		.known = true,
		.sends = count_ring(&rings[send]),
		.sends_most = rings[send].head.index_mask,
		.needs_receive = needs_receive(facts, &rings[send]),
		.receives = qp->srq ? 0 : count_ring(&rings[0]),
		.receives_most = qp->srq ? 0 : rings[0].head.index_mask,
	};
}

void rxe_read_cq(const struct facts *facts, struct handle_cq *cq)
{
	struct ring rings[RINGS];

	if (!find_rings(facts, cq->at, rings))
		return;
	cq->counted = true;
	cq->waiting = count_ring(&rings[0]);
}
