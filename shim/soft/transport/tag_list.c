/*
 * The list of tagged buffers of a shared receive queue
 *
 * The buffers and their order are in the segment; the owner adds and removes buffers, sending
 * processes find and remove them, all while holding the lock of the shared queue. A slot is reused
 * after the completion of its buffer was polled. The lower half of the program's handle is the
 * slot, the upper half a serial number, so that an old handle does not refer to a new buffer.
 *
 * List operations are executed when they are posted. An operation occupies an entry
 * (tm_cap.max_ops) until its own or a later completion was polled, like a send request.
 *
 * Not here: delivery of messages (tag.c).
 */
#include "shim/soft/transport/tag_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/soft/fabric/heap.h"
#include "shim/soft/fabric/segment.h"

enum { SERIAL_SHIFT = 16 };

static uint64_t size_of(uint32_t num)
{
	return sizeof(struct shm_tm) + num * sizeof(struct shm_tag);
}

struct shm_tm *tag_list_find(struct shm_seg *seg, uint64_t off, uint32_t num)
{
	return num > SHM_TAG_MAX || off % SHM_LINE ? NULL : segment_at(seg, off, size_of(num));
}

static bool is_synced(const struct shm_tm *tm)
{
	return (uint16_t)tm->unexpected == (uint16_t)tm->synced;
}

/* Remove the tag at index @at of tm->order from the list; its slot stays in use. */
static void unlink_tag(struct shm_tm *tm, uint32_t num, uint32_t at)
{
	/* a peer can write any number to tm->count */
	uint32_t count = tm->count < num ? tm->count : num;

	if (at >= count)
		return;
	memmove(tm->order + at, tm->order + at + 1, (count - 1 - at) * sizeof(*tm->order));
	tm->count = count - 1;
}

static uint32_t index_of(const struct shm_tm *tm, uint32_t num, uint32_t slot)
{
	uint32_t at;

	for (at = 0; at < tm->count && at < num; at++)
		if (tm->order[at] == slot)
			return at;
	return num;
}

void tag_list_remove(struct shm_tm *tm, uint32_t num, uint32_t slot)
{
	tm->tag[slot].state = SHM_TAG_MATCHED;
	unlink_tag(tm, num, index_of(tm, num, slot));
}

uint32_t tag_list_match(const struct shm_tm *tm, uint32_t num, uint64_t tag)
{
	const struct shm_tag *t;
	uint32_t at, slot;

	for (at = 0; at < tm->count && at < num; at++) {
		slot = tm->order[at];
		if (slot >= num)
			continue;
		t = &tm->tag[slot];
		if (t->state == SHM_TAG_ENABLED && (tag & t->mask) == t->tag)
			return slot;
	}
	return TAG_LIST_NONE;
}

int tag_list_make(struct soft_srq *srq, const struct ibv_tm_cap *cap)
{
	struct shm_srq *shm = srq->shm;
	struct soft_tags *tags = calloc(1, sizeof(*tags));

	if (!tags)
		return -ENOMEM;
	shm->tm_off = heap_alloc(size_of(cap->max_num_tags));
	tags->shm = shm->tm_off ? tag_list_find(segment_own, shm->tm_off, cap->max_num_tags) : NULL;
	if (!tags->shm) {
		free(tags);
		return -ENOMEM;
	}
	tags->max = cap->max_num_tags;
	tags->max_ops = cap->max_ops;
	while (tags->num_free < tags->max) {
		tags->free[tags->num_free] = tags->max - 1 - tags->num_free;
		tags->num_free++;
	}
	shm->tags = tags->max;
	srq->tags = tags;
	return 0;
}

void tag_list_free(struct soft_srq *srq)
{
	if (!srq->tags)
		return;
	heap_free_at(srq->tags->shm, size_of(srq->tags->max));
	free(srq->tags);
	srq->tags = NULL;
}

/*
 * Acknowledge the unexpected messages that the program has seen: if there are no other unexpected
 * messages, all tags can match from now on.
 */
static void sync_list(struct soft_tags *tags, uint32_t unexpected_cnt)
{
	struct shm_tm *tm = tags->shm;
	uint32_t at, slot;

	tm->synced = unexpected_cnt;
	if (!is_synced(tm))
		return;
	for (at = 0; at < tm->count && at < tags->max; at++) {
		slot = tm->order[at];
		if (slot < tags->max && tm->tag[slot].state == SHM_TAG_POSTED)
			tm->tag[slot].state = SHM_TAG_ENABLED;
	}
}

static int check_add(const struct soft_tags *tags, const struct ibv_ops_wr *wr)
{
	uint64_t length = 0;
	int i;

	if (wr->tm.add.num_sge < 0 || wr->tm.add.num_sge > SHM_TAG_SGE)
		return EINVAL;
	for (i = 0; i < wr->tm.add.num_sge; i++)
		length += wr->tm.add.sg_list[i].length;
	if (length > UINT32_MAX)
		return EINVAL;
	return tags->num_free && tags->shm->count < tags->max ? 0 : ENOMEM;
}

static void add_tag(struct soft_tags *tags, struct ibv_ops_wr *wr)
{
	uint32_t slot = tags->free[--tags->num_free];
	struct shm_tm *tm = tags->shm;
	struct shm_tag *t = &tm->tag[slot];
	uint32_t count = tm->count % SHM_TAG_MAX; /* a peer can write any number to tm->count */
	int i;

	wr->tm.handle = ++tags->serial << SERIAL_SHIFT | slot;
	*t = (struct shm_tag){ .tag = wr->tm.add.tag,
			       .mask = wr->tm.add.mask,
			       .wr_id = wr->tm.add.recv_wr_id,
			       .handle = wr->tm.handle,
			       .num_sge = wr->tm.add.num_sge };
	for (i = 0; i < wr->tm.add.num_sge; i++) {
		t->sge[i] = wr->tm.add.sg_list[i];
		t->length += t->sge[i].length;
	}
	t->state = is_synced(tm) ? SHM_TAG_ENABLED : SHM_TAG_POSTED;
	tm->order[count] = slot;
	tm->count = count + 1;
}

static void free_slot(struct soft_tags *tags, uint32_t slot)
{
	tags->shm->tag[slot].state = SHM_TAG_FREE;
	if (tags->num_free < tags->max)
		tags->free[tags->num_free++] = slot;
}

/* Remove a tag. Returns IBV_WC_TM_ERR if a message has matched it in between. */
static int delete_tag(struct soft_tags *tags, uint32_t handle)
{
	uint32_t slot = handle & ((1u << SERIAL_SHIFT) - 1);
	struct shm_tag *t = &tags->shm->tag[slot];

	if (t->handle != handle || (t->state != SHM_TAG_POSTED && t->state != SHM_TAG_ENABLED))
		return IBV_WC_TM_ERR;
	tag_list_remove(tags->shm, tags->max, slot);
	free_slot(tags, slot);
	return IBV_WC_SUCCESS;
}

static void complete_op(struct soft_srq *srq, const struct ibv_ops_wr *wr, int opcode, int status)
{
	struct shm_cqe *cqe = cqring_begin_sure(&srq->cq->ring);

	if (!cqe)
		return; /* overrun: the owner has been notified */
	cqe->status = status;
	cqe->opcode = opcode;
	cqe->flags = SHM_CQE_SRQ | SHM_CQE_MATCHING;
	cqe->wr_id = wr->wr_id;
	cqe->qp = UINT16_MAX; /* no queue pair */
	cqe->srq = srq->srq.handle;
	cqe->retire = srq->tags->ops;
	memset(cqe->data, 0, sizeof(struct ibv_wc_tm_info));
	if (!is_synced(srq->tags->shm))
		cqe->wc_flags = IBV_WC_TM_SYNC_REQ;
	cqring_commit(&srq->cq->ring, cqe, status != IBV_WC_SUCCESS);
}

static int check_op(const struct soft_tags *tags, const struct ibv_ops_wr *wr)
{
	if (wr->flags & ~(IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC))
		return EINVAL;
	if (tags->ops - tags->ops_retired >= tags->max_ops)
		return ENOMEM;
	switch (wr->opcode) {
	case IBV_WR_TAG_ADD:
		return check_add(tags, wr);
	case IBV_WR_TAG_DEL:
		return (wr->tm.handle & ((1u << SERIAL_SHIFT) - 1)) < tags->max ? 0 : EINVAL;
	case IBV_WR_TAG_SYNC:
		return 0;
	default:
		return EINVAL;
	}
}

int tag_list_post(struct soft_srq *srq, struct ibv_ops_wr *wr)
{
	static const uint8_t opcodes[] = { [IBV_WR_TAG_ADD] = IBV_WC_TM_ADD,
					   [IBV_WR_TAG_DEL] = IBV_WC_TM_DEL,
					   [IBV_WR_TAG_SYNC] = IBV_WC_TM_SYNC };
	struct soft_tags *tags = srq->tags;
	int status = IBV_WC_SUCCESS;
	int err = check_op(tags, wr);

	if (err)
		return err;
	tags->ops++;
	if (wr->flags & IBV_OPS_TM_SYNC)
		sync_list(tags, wr->tm.unexpected_cnt);
	if (wr->opcode == IBV_WR_TAG_ADD)
		add_tag(tags, wr);
	else if (wr->opcode == IBV_WR_TAG_DEL)
		status = delete_tag(tags, wr->tm.handle);
	if (wr->flags & IBV_OPS_SIGNALED)
		complete_op(srq, wr, opcodes[wr->opcode], status);
	return 0;
}

/* Free the slot of a tag whose data has arrived, or which has failed. */
static void retire_slot(struct soft_tags *tags, const struct shm_cqe *cqe)
{
	if ((cqe->wc_flags & IBV_WC_TM_DATA_VALID || cqe->status != IBV_WC_SUCCESS) &&
	    cqe->retire < tags->max && tags->shm->tag[cqe->retire].state == SHM_TAG_MATCHED)
		free_slot(tags, cqe->retire);
}

void tag_list_retire(struct soft_tags *tags, const struct shm_cqe *cqe)
{
	if (cqe->opcode == IBV_WC_TM_RECV)
		retire_slot(tags, cqe);
	else if (cqe->retire - tags->ops_retired <= tags->ops - tags->ops_retired)
		tags->ops_retired = cqe->retire;
}
