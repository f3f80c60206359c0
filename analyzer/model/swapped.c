/*
 * Words that several queue pairs use by compare-and-swap, and that are also written by RDMA WRITE
 *
 * Each word has an entry in a table by its address; words that find their entry used by another one
 * are not examined. A program has few locks that it uses often.
 */
#include "analyzer/model/swapped.h"

#include <stdlib.h>

#include "analyzer/model/model_state.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/steady.h"

enum { WORDS = 256, WORD = 8 /* bytes */ };

static struct swapped *entry_of(const struct model *model, uint64_t addr)
{
	return &model->swapped[(addr / WORD ^ addr / 4096) % WORDS];
}

static uint32_t peer_process(struct model *model, const struct queue *queue)
{
	const struct life *qp = queue->owner;
	const struct peer *other = peer_find_other(&model->peers, qp->peer);

	return other ? other->process : 0;
}

/* Does @queue do nothing else than swap @word? Then the lock is not released. */
static void note_spin(const struct trace_event *event, struct queue *queue, struct swapped *word)
{
	bool again = queue->swaps == word && queue->stats.posts == queue->spun + 1;

	queue->spins = again ? queue->spins + 1 : 1;
	queue->spun = queue->stats.posts;
	if (!again)
		queue->spun_since = event->time;
	if (queue->spins >= SWAPPED_SPINS)
		word->spin = (struct swapped_spin){ .process = event->process,
						    .qp = queue->owner->id,
						    .n = queue->spins,
						    .since = queue->spun_since,
						    .until = event->time };
}

static void note_swap(struct model *model, const struct trace_event *event, struct queue *queue,
		      uint64_t addr)
{
	uint32_t process = peer_process(model, queue), id = queue->owner->id;
	struct swapped *word;

	if (!model->swapped)
		model->swapped = calloc(WORDS, sizeof(*model->swapped));
	if (!model->swapped || !process)
		return; /* if out of memory, one hazard is missing */
	word = entry_of(model, addr);
	if (!word->process)
		*word = (struct swapped){ .process = process, .addr = addr, .last = id };
	if (word->process != process || word->addr != addr)
		return;
	if (word->last != id) {
		word->turns++;
		word->other = word->last;
		word->before = word->at;
		word->last = id;
	}
	word->at = moment_of(event);
	note_spin(event, queue, word);
	if (queue->swaps != word)
		queue->released = 0;
	queue->swaps = word;
	queue->swapped = moment_of(event);
}

/* @queue has released the word as often as is a habit. A new connection may replace the old one. */
static void note_writer(struct model *model, const struct queue *queue, struct swapped *word)
{
	uint64_t life;

	word->shared |= map_get(&model->by_id, word->writer, &life) &&
			((const struct life *)(uintptr_t)life)->state == LIFE_LIVE;
	word->writer = queue->owner->id;
}

static void note_write(struct model *model, const struct trace_event *event, struct queue *queue,
		       uint64_t addr)
{
	struct swapped *word = queue->swaps;

	if (!word || word->addr != addr || !queue->swapped.id.thread)
		return;
	if (!word->written++) {
		word->swap = queue->swapped;
		word->write = moment_of(event);
	}
	if (++queue->released == SWAPPED_HABIT)
		note_writer(model, queue, word);
	queue->swapped.id.thread = 0;
}

void swapped_note_post(struct model *model, const struct trace_event *event, struct queue *queue,
		       uint32_t taken)
{
	const struct post *post = event->post;

	for (uint32_t i = 0; i < taken; i++) {
		const struct wr *wr = &post->wr[i];

		if (wr->opcode == ABI_WR_ATOMIC_CMP_AND_SWP)
			note_swap(model, event, queue, wr->remote_addr);
		else if (wr->opcode == ABI_WR_RDMA_WRITE && wr_bytes(wr) == WORD)
			note_write(model, event, queue, wr->remote_addr);
	}
}

const struct swapped *swapped_find_spin(const struct model *model, uint32_t process)
{
	const struct steady *steady = steady_of(model, process);

	for (unsigned int i = 0; model->swapped && steady && i < WORDS; i++)
		if (model->swapped[i].spin.process == process &&
		    model->swapped[i].spin.until == steady->until)
			return &model->swapped[i];
	return NULL;
}

void swapped_fini(struct model *model)
{
	free(model->swapped);
}
