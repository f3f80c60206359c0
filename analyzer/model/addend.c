/*
 * Fetch-and-adds whose value is in swap
 */
#include "analyzer/model/addend.h"

#include "analyzer/model/abi.h"
#include "analyzer/model/queue.h"

/* A larger value may be random. */
static bool is_small(uint64_t value)
{
	return value && (int64_t)value == (int32_t)value;
}

static bool is_misplaced(const struct wr *wr)
{
	return wr->opcode == ABI_WR_ATOMIC_FETCH_AND_ADD && !wr->compare_add && is_small(wr->swap);
}

static void note_atomic(struct queue_addend *addend, const struct trace_event *event,
			const struct wr *wr, uint32_t index)
{
	addend->never |= !is_misplaced(wr);
	if (addend->never || addend->n++)
		return;
	addend->first = moment_of(event);
	addend->index = index;
	addend->swap = wr->swap;
}

void addend_note_post(struct queue *queue, const struct trace_event *event, uint32_t taken)
{
	const struct post *post = event->post;

	for (uint32_t i = 0; i < taken && !queue->addend.never; i++)
		if (post->wr[i].opcode == ABI_WR_ATOMIC_FETCH_AND_ADD ||
		    post->wr[i].opcode == ABI_WR_ATOMIC_CMP_AND_SWP)
			note_atomic(&queue->addend, event, &post->wr[i], i);
}
