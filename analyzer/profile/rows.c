/*
 * The rows of a profile for threads, processes, queues and completion queues
 *
 * All are arrays by number. The numbers in a trace are consecutive.
 */
#include "analyzer/profile/rows.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"

/* Memory for element @i, in an array of @n elements. NULL if out of memory. */
static void *grow_rows(struct profiler *p, void *array, size_t *n, size_t i, size_t each)
{
	size_t more = i + 1 > 2 * *n ? i + 1 : 2 * *n;
	char *made;

	made = realloc(array, more * each);
	if (!made) {
		profiler_fail(p);
		return NULL;
	}
	memset(made + *n * each, 0, (more - *n) * each);
	*n = more;
	return made;
}

static void *make_row(struct profiler *p, size_t size)
{
	void *row = calloc(1, size);

	if (!row)
		profiler_fail(p);
	return row;
}

static bool has_object(struct profiler *p, uint32_t object)
{
	struct profile *profile = p->profile;
	size_t nqueues = profile->nobjects, ncqs = profile->nobjects;
	void *queues, *cqs;

	if (object < profile->nobjects)
		return true;
	queues = grow_rows(p, profile->queues, &nqueues, object, sizeof(*profile->queues));
	if (queues)
		profile->queues = queues;
	cqs = queues ? grow_rows(p, profile->cqs, &ncqs, object, sizeof(*profile->cqs)) : NULL;
	if (!cqs)
		return false;
	profile->cqs = cqs;
	profile->nobjects = ncqs;
	return true;
}

struct profile_queue *rows_queue(struct profiler *p, uint32_t object, uint32_t process)
{
	struct profile_queue *queue;

	if (!object || !has_object(p, object))
		return NULL;
	queue = p->profile->queues[object];
	if (queue || !(queue = make_row(p, sizeof(*queue))))
		return queue;
	queue->object = object;
	queue->process = process;
	queue->send.last = queue->receive.last = -1;
	p->profile->queues[object] = queue;
	return queue;
}

struct profile_cq *rows_get_cq(struct profiler *p, uint32_t object, uint32_t process)
{
	struct profile_cq *cq;

	if (!object || !has_object(p, object))
		return NULL;
	cq = p->profile->cqs[object];
	if (cq || !(cq = make_row(p, sizeof(*cq))))
		return cq;
	cq->object = object;
	cq->process = process;
	p->profile->cqs[object] = cq;
	return cq;
}

static void grow_processes(struct profiler *p)
{
	struct profile *profile = p->profile;

	while (trace_process(p->trace, (uint32_t)profile->nprocesses + 1)) {
		struct profile_process *row = vec_push(profile->processes, profile->nprocesses);

		if (!row) {
			profiler_fail(p);
			return;
		}
		row->id = (uint32_t)profile->nprocesses;
		row->first = row->last = -1;
	}
}

static void grow_threads(struct profiler *p)
{
	struct profile *profile = p->profile;

	while (trace_thread(p->trace, (uint32_t)profile->nthreads + 1))
		if (!vec_push(profile->threads, profile->nthreads)) {
			profiler_fail(p);
			return;
		}
}

void rows_grow(struct profiler *p)
{
	grow_processes(p);
	grow_threads(p);
}

/* Is there an object @id? In a trace that is still being written, their number grows. */
static bool has_number(struct profiler *p, uint32_t id, const size_t *n)
{
	if (id > *n && trace_is_live(p->trace))
		rows_grow(p);
	return id && id <= *n;
}

struct profile_process *rows_process(struct profiler *p, uint32_t id)
{
	return has_number(p, id, &p->profile->nprocesses) ? &p->profile->processes[id - 1] : NULL;
}

struct profile_thread *rows_get_thread(struct profiler *p, uint32_t id, uint32_t process)
{
	struct profile *profile = p->profile;
	struct profile_thread *row;

	if (!has_number(p, id, &profile->nthreads))
		return NULL;
	row = &profile->threads[id - 1];
	if (!row->id) {
		row->id = id;
		row->process = process;
		if (rows_process(p, process))
			profile->processes[process - 1].threads++;
	}
	return row;
}

struct worker *rows_get_worker(struct profiler *p, uint32_t thread)
{
	struct worker *made;

	if (thread < p->nworkers)
		return &p->workers[thread];
	made = grow_rows(p, p->workers, &p->nworkers, thread, sizeof(*p->workers));
	if (!made)
		return NULL;
	p->workers = made;
	return &p->workers[thread];
}
