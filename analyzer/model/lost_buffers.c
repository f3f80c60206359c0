/*
 * Receive buffers that were lost with their queue pair
 *
 * There are few pools, so a list is enough. A buffer is identified by the address of its first SGE.
 */
#include "analyzer/model/lost_buffers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/model_state.h"
#include "analyzer/model/queue.h"

enum { BUFFERS = 1 << 16 }; /* of a pool: more are not counted */

static struct lost_pool *find_pool(const struct model *model, uint32_t process, uint32_t lkey)
{
	for (struct lost_pool *pool = model->lost; pool; pool = pool->next)
		if (pool->process == process && pool->lkey == lkey)
			return pool;
	return NULL;
}

static struct lost_pool *make_pool(struct model *model, uint32_t process, uint32_t lkey)
{
	struct lost_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->process = process;
	pool->lkey = lkey;
	pool->next = model->lost;
	pool->at = &model->lost;
	if (pool->next)
		pool->next->at = &pool->next;
	model->lost = pool;
	return pool;
}

static int store_buffer(struct model *model, const struct life *qp, const struct sge *sge,
			const struct moment *destroyed)
{
	struct lost_pool *pool = find_pool(model, qp->process, sge->lkey);
	uint64_t known;

	if (!pool && !(pool = make_pool(model, qp->process, sge->lkey)))
		return -ENOMEM;
	if (map_get(&pool->addresses, sge->addr, &known) || pool->buffers >= BUFFERS)
		return 0;
	if (map_put(&pool->addresses, sge->addr, 1))
		return -ENOMEM;
	if (!pool->queues)
		memcpy(pool->first, qp->name, sizeof(pool->first));
	pool->queues += pool->destroyed.id.n != destroyed->id.n ||
			pool->destroyed.id.thread != destroyed->id.thread;
	pool->destroyed = *destroyed;
	pool->buffers++;
	return 0;
}

int lost_buffers_note_destroy(struct model *model, const struct life *qp,
			      const struct moment *destroyed)
{
	const struct queue *queue = qp->rq;
	int err = 0;

	if (!queue || queue->owner != qp || queue->doubt)
		return 0;
	for (uint32_t i = 0; i < queue->count && !err; i++) {
		const struct queue_request *request = queue_at(queue, i);

		if (!request->done && request->nsge)
			err = store_buffer(model, qp, queue_sge(queue, request, 0), destroyed);
	}
	return err;
}

void lost_buffers_note_post(struct model *model, const struct queue *queue, const struct sge *first)
{
	struct lost_pool *pool = find_pool(model, queue->owner->process, first->lkey);
	uint64_t known;

	if (!pool)
		return;
	if (map_get(&pool->addresses, first->addr, &known)) {
		map_remove(&pool->addresses, first->addr);
		pool->buffers--;
	} else if (queue->owner->created.time > pool->destroyed.time) {
		pool->others++;
	}
}

const struct lost_pool *lost_buffers_find(const struct model *model, uint32_t process,
					  uint32_t lkey)
{
	return find_pool(model, process, lkey);
}

const struct lost_pool *lost_buffers_next(const struct model *model, uint32_t process,
					  const struct lost_pool *pool)
{
	for (pool = pool ? pool->next : model->lost; pool; pool = pool->next)
		if (pool->process == process)
			return pool;
	return NULL;
}

void lost_buffers_forget(struct model *model, uint32_t process, uint32_t lkey)
{
	struct lost_pool *pool = model->lost, *next;

	for (; pool; pool = next) {
		next = pool->next;
		if (pool->process != process || (lkey && pool->lkey != lkey))
			continue;
		*pool->at = next;
		if (next)
			next->at = pool->at;
		map_fini(&pool->addresses);
		free(pool);
	}
}
