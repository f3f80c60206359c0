/*
 * Selection of the requests to store
 *
 *	block    0   1   2   3   4   5   6   7   8  ...        n-1   n
 *	         |---|---|---|---|---|---|---|---|--          --|---|
 *	kept     even    slow    even     error  even            last
 *
 * The number of requests is known only at the end, so the distance between even blocks is 1 at
 * first and doubles whenever there are too many of them. Whether to store a block is decided when
 * all its requests have ended.
 *
 * The n-th message that a reliable queue pair sends is the n-th that its peer receives, from a
 * receive queue or an SRQ, until one of them is reset.
 */
#include "analyzer/profile/lanes.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/model.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "core/base/map.h"
#include "core/base/vec.h"

struct lanes {
	struct lanes_block **blocks; /* by number; NULL: not stored */
	size_t nblocks;
	uint64_t total; /* requests */
	/* blocks whose requests have not all completed: how many; the lowest number */
	uint64_t held, oldest;
	uint64_t distance, neven, nerrors;
	uint64_t slow[LANES_SLOW]; /* 1 + number of the block */
	struct map numbers;        /* of outstanding requests */
	struct map received;       /* messages, by queue pair */
};

struct lanes *lanes_new(void)
{
	struct lanes *lanes = calloc(1, sizeof(*lanes));

	if (lanes)
		lanes->distance = 1;
	return lanes;
}

void lanes_free(struct lanes *lanes)
{
	if (!lanes)
		return;
	for (size_t i = 0; i < lanes->nblocks; i++)
		free(lanes->blocks[i]);
	free(lanes->blocks);
	map_fini(&lanes->numbers);
	map_fini(&lanes->received);
	free(lanes);
}

/* Which blocks are stored */

static void drop_block(struct lanes *lanes, uint64_t number)
{
	free(lanes->blocks[number]);
	lanes->blocks[number] = NULL;
}

/* Only LANES_SLOW slow blocks are stored: drop @block, or the fastest stored block. */
static void store_if_slow(struct lanes *lanes, struct lanes_block *block)
{
	uint64_t *least = &lanes->slow[0], dropped = block->number;

	for (unsigned int i = 0; i < LANES_SLOW && *least; i++)
		if (!lanes->slow[i] ||
		    lanes->blocks[lanes->slow[i] - 1]->slowest < lanes->blocks[*least - 1]->slowest)
			least = &lanes->slow[i];
	if (!*least) {
		*least = block->number + 1;
		return;
	}
	if (block->slowest > lanes->blocks[*least - 1]->slowest) {
		dropped = *least - 1;
		*least = block->number + 1;
	}
	drop_block(lanes, dropped);
}

static void double_distance(struct lanes *lanes)
{
	uint64_t old = lanes->distance;

	lanes->distance *= 2;
	lanes->neven = 0;
	for (uint64_t i = 0; i < lanes->nblocks; i += old) {
		struct lanes_block *block = lanes->blocks[i];

		if (!block || !block->judged || block->error)
			continue;
		if (i % lanes->distance)
			store_if_slow(lanes, block);
		else
			lanes->neven++;
	}
}

static void choose_rows_of_block(struct lanes *lanes, struct lanes_block *block)
{
	block->judged = true;
	lanes->held--;
	block->error = block->error && lanes->nerrors < LANES_ERRORS;
	if (block->error)
		lanes->nerrors++;
	else if (block->number % lanes->distance)
		store_if_slow(lanes, block);
	else if (++lanes->neven > LANES_EVEN)
		double_distance(lanes);
}

static bool is_full(const struct lanes_block *block)
{
	return block->used == LANES_BLOCK;
}

/*
 * Judge the block that is no longer among the last. If too many blocks wait for completions, the
 * oldest is judged without them.
 */
static void choose_rows_of_older_blocks(struct lanes *lanes)
{
	if (lanes->nblocks > LANES_LAST) {
		struct lanes_block *block = lanes->blocks[lanes->nblocks - 1 - LANES_LAST];

		if (block && !block->judged && !block->open)
			choose_rows_of_block(lanes, block);
	}
	for (; lanes->held > LANES_HELD; lanes->oldest++) {
		struct lanes_block *block = lanes->blocks[lanes->oldest];

		if (block && !block->judged)
			choose_rows_of_block(lanes, block);
	}
}

/* Requests */

static struct lanes_block *last_block(struct lanes *lanes)
{
	struct lanes_block **slot;

	if (lanes->nblocks && !is_full(lanes->blocks[lanes->nblocks - 1]))
		return lanes->blocks[lanes->nblocks - 1];
	slot = vec_push(lanes->blocks, lanes->nblocks);
	if (!slot)
		return NULL;
	*slot = calloc(1, sizeof(**slot));
	if (!*slot) {
		lanes->nblocks--;
		return NULL;
	}
	(*slot)->number = lanes->nblocks - 1;
	lanes->held++;
	choose_rows_of_older_blocks(lanes);
	return *slot;
}

static uint64_t request_key(struct event_id post, uint32_t index)
{
	return map_hash(event_key(post)) + index;
}

static int add_request(struct lanes *lanes, const struct model_post *told, uint32_t i)
{
	const struct trace_event *event = told->event;
	const struct wr *wr = &event->post->wr[i];
	const struct queue_request *request =
		told->queue && told->queue->count >= told->taken
			? queue_at(told->queue, told->queue->count - told->taken + i)
			: NULL;
	struct lanes_block *block = last_block(lanes);

	if (!block)
		return -ENOMEM;
	block->at[block->used++] = (struct lane_request){
		.post = event->id,
		.index = i,
		.posted = event->time,
		.ended = -1,
		.status = -1,
		.wr_id = wr->wr_id,
		.bytes = wr_bytes(wr),
		.queue = event->post->object,
		.opcode = post_is_send(event->post) ? wr->opcode : -1,
		.message = request && post_is_send(event->post) ? request->message : 0,
	};
	block->open++;
	return map_put(&lanes->numbers, request_key(event->id, i), lanes->total++);
}

int lanes_note_post(struct lanes *lanes, const struct model_post *post)
{
	int err = 0;

	for (uint32_t i = 0; i < post->taken && !err; i++)
		err = add_request(lanes, post, i);
	return err;
}

/* Remove a request from the outstanding ones. Returns its entry; NULL: its block was dropped. */
static struct lane_request *remove_outstanding(struct lanes *lanes, struct event_id post,
					       uint32_t index, struct lanes_block **ret_block)
{
	uint64_t number, key = request_key(post, index);
	struct lanes_block *block;
	struct lane_request *request;

	if (!map_get(&lanes->numbers, key, &number))
		return NULL;
	map_remove(&lanes->numbers, key);
	block = lanes->blocks[number / LANES_BLOCK];
	if (!block)
		return NULL;
	request = &block->at[number % LANES_BLOCK];
	if (request->index != index || event_key(request->post) != event_key(post))
		return NULL; /* another request with the same hash */
	*ret_block = block;
	return request;
}

static void end_request(struct lanes *lanes, struct lanes_block *block,
			struct lane_request *request, int64_t time)
{
	int64_t took = time - request->posted;

	request->ended = time;
	if (request->opcode >= 0 && took > block->slowest)
		block->slowest = took;
	if (!--block->open && is_full(block) && !block->judged &&
	    block->number + LANES_LAST < lanes->nblocks)
		choose_rows_of_block(lanes, block);
}

/* A completion also retires the unsignalled sends before @last. */
static void end_earlier_sends(struct lanes *lanes, const struct queue *queue,
			      const struct queue_request *last, int64_t time)
{
	for (uint32_t i = 0; i < queue->count; i++) {
		const struct queue_request *request = queue_at(queue, i);
		struct lanes_block *block;
		struct lane_request *mine;

		if (request == last)
			return;
		mine = request->done ? NULL
				     : remove_outstanding(lanes, queue_id(request), request->index,
							  &block);
		if (mine)
			end_request(lanes, block, mine, time);
	}
}

/* The sender of the message that @qp has received, and the number of the message. */
static uint32_t find_sender(struct lanes *lanes, struct model *model, const struct life *qp,
			    uint64_t *ret_message)
{
	struct peers *peers = model_peers(model);
	const struct peer *other;
	uint64_t n = 0;

	if (!qp || !qp->qp || qp->qp->type != ABI_QPT_RC || !qp->peer)
		return 0;
	other = peer_find_other(peers, qp->peer);
	map_get(&lanes->received, qp->id, &n);
	if (map_put(&lanes->received, qp->id, ++n) || !other)
		return 0;
	*ret_message = n;
	return other->id;
}

int lanes_note_completion(struct lanes *lanes, struct model *model,
			  const struct model_complete *told)
{
	const struct wc *wc = &told->event->poll->wc[told->index];
	struct lanes_block *block;
	struct lane_request *request;
	uint64_t message = 0;
	uint32_t sender = 0;

	if (wc->status == ABI_WC_SUCCESS && wc->opcode & ABI_WC_RECV)
		sender = find_sender(lanes, model, told->qp, &message);
	if (told->queue && told->queue->send && told->request)
		end_earlier_sends(lanes, told->queue, told->request, told->event->time);
	request = wc->request.thread
			  ? remove_outstanding(lanes, wc->request, wc->request_index, &block)
			  : NULL;
	if (!request)
		return 0;
	request->poll = told->event->id;
	request->status = wc->status;
	if (sender) {
		request->sender = sender;
		request->message = message;
	}
	block->error |= wc->status != ABI_WC_SUCCESS && wc->status != ABI_WC_WR_FLUSH_ERR;
	end_request(lanes, block, request, told->event->time);
	return 0;
}

void lanes_note_modify(struct lanes *lanes, const struct model_modify *modify)
{
	if (modify->to == ABI_QPS_RESET)
		map_remove(&lanes->received, modify->object->id);
}

/* The end */

void lanes_end(struct lanes *lanes)
{
	for (size_t i = 0; i + LANES_LAST < lanes->nblocks; i++)
		if (lanes->blocks[i] && !lanes->blocks[i]->judged)
			choose_rows_of_block(lanes, lanes->blocks[i]);
}

uint64_t lanes_count(const struct lanes *lanes)
{
	return lanes->total;
}

const struct lanes_block *lanes_next(const struct lanes *lanes, const struct lanes_block *block)
{
	for (size_t i = block ? block->number + 1 : 0; i < lanes->nblocks; i++)
		if (lanes->blocks[i])
			return lanes->blocks[i];
	return NULL;
}
