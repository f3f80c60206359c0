/*
 * Copies of the objects of replayed processes, in the replaying process
 *
 * The copies are in a separate address range, so that they can be recognised. The ops of a context
 * are replaced, so that ibv_post_send(), ibv_poll_cq() and other inline functions work with a copy.
 */
#include "replay/process/process_mirror.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/map.h"

#define RANGE (1ull << 36) /* address space, not memory */

struct mirrors {
	void (*hook)(struct mirror *mirror);
	struct mirror *first; /* of the range */
	uint64_t used;
	struct mirror *free;
	struct map by_real; /* from a process and an address in it to the mirror */
	pthread_mutex_t lock;
};

static uint64_t range_start, range_end; /* only one struct mirrors exists at a time */

enum { REAL_BITS = 47 };

static uint64_t key_of(uint32_t process, uint64_t real)
{
	return (uint64_t)process << REAL_BITS ^ real;
}

int mirrors_new(void (*hook)(struct mirror *mirror), struct mirrors **ret_mirrors)
{
	struct mirrors *m = calloc(1, sizeof(*m));
	void *range = mmap(NULL, RANGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (!m || range == MAP_FAILED) {
		free(m);
		return -ENOMEM;
	}
	*m = (struct mirrors){ .hook = hook, .first = range, .lock = PTHREAD_MUTEX_INITIALIZER };
	range_start = (uintptr_t)range;
	range_end = range_start + RANGE;
	*ret_mirrors = m;
	return 0;
}

void mirrors_free(struct mirrors *m)
{
	if (!m)
		return;
	for (uint64_t i = 0; i < m->used; i++)
		free(m->first[i].wcs);
	munmap(m->first, RANGE);
	range_start = range_end = 0;
	map_fini(&m->by_real);
	free(m);
}

struct mirror *mirror_of(const void *object)
{
	uint64_t at = (uintptr_t)object;

	if (at < range_start || at >= range_end)
		return NULL;
	return (struct mirror *)(uintptr_t)(at - offsetof(struct mirror, copy));
}

uint64_t mirror_real(uint64_t object)
{
	const struct mirror *mirror = mirror_of((const void *)(uintptr_t)object);

	return mirror ? mirror->real : object;
}

static struct mirror *find_mirror_locked(struct mirrors *m, uint32_t process, uint64_t real)
{
	uint64_t value;

	if (!real || !process || !map_get(&m->by_real, key_of(process, real), &value))
		return NULL;
	return (struct mirror *)(uintptr_t)value;
}

bool mirror_has(struct mirrors *m, uint32_t process, const struct mirror *mirror)
{
	bool has;

	pthread_mutex_lock(&m->lock);
	has = find_mirror_locked(m, process, mirror->real) == mirror;
	pthread_mutex_unlock(&m->lock);
	return has;
}

int mirrors_fork(struct mirrors *m, uint32_t parent, uint32_t child)
{
	int err = 0;

	pthread_mutex_lock(&m->lock);
	for (uint64_t i = 0; i < m->used && !err; i++) {
		struct mirror *mirror = &m->first[i];

		if (find_mirror_locked(m, parent, mirror->real) != mirror)
			continue;
		err = map_put(&m->by_real, key_of(child, mirror->real), (uintptr_t)mirror);
		mirror->holders++;
	}
	pthread_mutex_unlock(&m->lock);
	return err;
}

void *mirror_at(struct mirrors *m, uint32_t process, uint64_t real)
{
	struct mirror *mirror;

	pthread_mutex_lock(&m->lock);
	mirror = find_mirror_locked(m, process, real);
	pthread_mutex_unlock(&m->lock);
	return mirror ? mirror->copy : NULL;
}

static struct mirror *alloc_mirror(struct mirrors *m)
{
	struct mirror *mirror = m->free;

	if (mirror)
		m->free = mirror->next;
	else if ((m->used + 1) * sizeof(*mirror) <= RANGE)
		mirror = &m->first[m->used++];
	return mirror;
}

/* @member points from a real object to another one. */
#define POINT(process, object, member) \
	((object)->member = (void *)find_pointer_for(m, process, (uintptr_t)(object)->member))

static void *find_pointer_for(struct mirrors *m, uint32_t process, uint64_t real)
{
	struct mirror *to = find_mirror_locked(m, process, real);

	return to ? to->copy : NULL;
}

static void point_cq(struct mirrors *m, uint32_t process, struct ibv_cq *cq)
{
	POINT(process, cq, context);
	POINT(process, cq, channel);
}

static void point_qp(struct mirrors *m, uint32_t process, struct ibv_qp *qp)
{
	POINT(process, qp, context);
	POINT(process, qp, pd);
	POINT(process, qp, send_cq);
	POINT(process, qp, recv_cq);
	POINT(process, qp, srq);
}

static void point_wq(struct mirrors *m, uint32_t process, struct ibv_wq *wq)
{
	POINT(process, wq, context);
	POINT(process, wq, pd);
	POINT(process, wq, cq);
}

static void point_context(struct ibv_context *context, struct ibv_device *device)
{
	context->device = device;
	context->abi_compat = NULL;
}

/* Set the pointers of an object that begins with a context and, perhaps, a protection domain. */
static void point_plain(struct mirrors *m, uint32_t process, enum object_kind kind,
			struct ibv_mr *object)
{
	POINT(process, object, context);
	if (kind == OBJECT_mr || kind == OBJECT_mw || kind == OBJECT_ah)
		POINT(process, object, pd);
}

/* The pointers in the copy are addresses of @process: replace each by that of our copy. */
static void point_mirror(struct mirrors *m, uint32_t process, struct mirror *mirror,
			 struct ibv_device *device)
{
	struct ibv_srq *srq = (void *)mirror->copy;
	struct ibv_flow *flow = (void *)mirror->copy;

	switch (mirror->kind) {
	case OBJECT_context:
		point_context((void *)mirror->copy, device);
		break;
	case OBJECT_cq:
		point_cq(m, process, (void *)mirror->copy);
		break;
	case OBJECT_qp:
		point_qp(m, process, (void *)mirror->copy);
		break;
	case OBJECT_wq:
		point_wq(m, process, (void *)mirror->copy);
		break;
	case OBJECT_srq:
		POINT(process, srq, context);
		POINT(process, srq, pd);
		break;
	case OBJECT_flow:
		POINT(process, flow, context);
		break;
	default:
		point_plain(m, process, mirror->kind, (void *)mirror->copy);
	}
}

static struct mirror *make_mirror(struct mirrors *m, uint32_t process,
				  const struct process_copy *copy)
{
	struct mirror *mirror = alloc_mirror(m);

	if (!mirror || map_put(&m->by_real, key_of(process, copy->real), (uintptr_t)mirror))
		return NULL;
	*mirror = (struct mirror){ .real = copy->real,
				   .process = process,
				   .holders = 1,
				   .kind = copy->kind,
				   .builds = copy->builds,
				   .extended = copy->extended };
	return mirror;
}

/* The number of bytes to copy: the part after the plain structure is copied only once (@made). */
static size_t size_of(const struct mirror *mirror, bool made)
{
	if (!made && mirror->kind == OBJECT_cq)
		return sizeof(struct ibv_cq);
	if (!made && mirror->kind == OBJECT_qp)
		return sizeof(struct ibv_qp);
	return sizeof(mirror->copy);
}

static void *put_mirror_locked(struct mirrors *m, uint32_t process, const struct process_copy *copy,
			       bool made, struct ibv_device *device)
{
	struct mirror *mirror =
		made ? make_mirror(m, process, copy) : find_mirror_locked(m, process, copy->real);

	if (!mirror || mirror->kind != copy->kind)
		return NULL;
	if (!made && mirror->kind == OBJECT_context)
		device = ((struct ibv_context *)mirror->copy)->device;
	memcpy(mirror->copy, copy->bytes, size_of(mirror, made));
	point_mirror(m, process, mirror, device);
	m->hook(mirror);
	return mirror->copy;
}

void *mirror_put(struct mirrors *m, uint32_t process, const struct process_copy *copy, bool made,
		 struct ibv_device *device)
{
	void *put;

	pthread_mutex_lock(&m->lock);
	put = put_mirror_locked(m, process, copy, made, device);
	pthread_mutex_unlock(&m->lock);
	return put;
}

static void free_mirror(struct mirrors *m, struct mirror *mirror)
{
	free(mirror->wcs);
	mirror->wcs = NULL;
	mirror->n = mirror->at = 0;
	mirror->next = m->free;
	m->free = mirror;
}

void mirror_drop(struct mirrors *m, uint32_t process, struct mirror *mirror)
{
	pthread_mutex_lock(&m->lock);
	if (find_mirror_locked(m, process, mirror->real) == mirror) {
		map_remove(&m->by_real, key_of(process, mirror->real));
		if (!--mirror->holders)
			free_mirror(m, mirror);
	}
	pthread_mutex_unlock(&m->lock);
}

void mirrors_hand_down(struct mirrors *m, uint32_t process, uint32_t heir)
{
	pthread_mutex_lock(&m->lock);
	for (uint64_t i = 0; i < m->used; i++)
		if (m->first[i].process == process &&
		    find_mirror_locked(m, heir, m->first[i].real) == &m->first[i])
			m->first[i].process = heir;
	pthread_mutex_unlock(&m->lock);
}
