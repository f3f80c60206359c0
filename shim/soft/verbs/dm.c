/*
 * Device memory
 *
 * Device memory is memory of this process, which the program accesses only by copying, and peers
 * through its regions, whose addresses begin at 0. Its size is small, and addresses and lengths are
 * multiples of four bytes, as on an adapter.
 *
 * It does not depend on the context, so a child may allocate it with an inherited context, as with
 * the kernel's file.
 *
 * Source: ibv_alloc_dm(3).
 */
#include "shim/soft/verbs/dm.h"

#include <stdlib.h>

#include "shim/soft/fabric/profile.h"
#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/mr.h"

enum {
	WORD = 4,
	LOG_ALIGN_MAX = 12,
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_OPTIONAL_RANGE,
};

static struct soft_dm *all;
static size_t used;

static int check_range(const struct soft_dm *dm, uint64_t off, size_t length)
{
	if (!dm->memory)
		return ENOENT;
	if (off > dm->length || length > dm->length - off)
		return EFAULT;
	return off % WORD || length % WORD ? EINVAL : 0;
}

static int memcpy_to_dm(struct ibv_dm *ibdm, uint64_t off, const void *host, size_t length)
{
	struct soft_dm *dm = to_dm(ibdm);
	int err = check_range(dm, off, length);

	if (!err)
		memcpy(dm->memory + off, host, length);
	return err;
}

static int memcpy_from_dm(void *host, struct ibv_dm *ibdm, uint64_t off, size_t length)
{
	struct soft_dm *dm = to_dm(ibdm);
	int err = check_range(dm, off, length);

	if (!err)
		memcpy(host, dm->memory + off, length);
	return err;
}

struct soft_dm *dm_new(struct ibv_context *context, void *memory, size_t length, uint32_t handle)
{
	struct soft_dm *dm = calloc(1, sizeof(*dm));

	if (!dm)
		return NULL;
	dm->dm.context = context;
	dm->dm.memcpy_to_dm = memcpy_to_dm;
	dm->dm.memcpy_from_dm = memcpy_from_dm;
	dm->dm.handle = handle;
	dm->memory = memory;
	dm->length = length;
	soft_twin_init(&dm->twin);
	return dm;
}

void dm_add(struct soft_dm *dm)
{
	dm->next = all;
	all = dm;
}

void dm_del(struct soft_dm *dm)
{
	struct soft_dm **p;

	for (p = &all; *p; p = &(*p)->next)
		if (*p == dm) {
			*p = dm->next;
			return;
		}
}

struct soft_dm *dm_find(struct ibv_context *context, uint32_t handle)
{
	struct soft_dm *dm;

	for (dm = all; dm; dm = dm->next)
		if (dm->dm.handle == handle && dm->memory &&
		    context_same_file(dm->dm.context, context))
			break;
	return dm;
}

/* Reserve @length bytes. Atomic, because a child may have been forked while the mutex was held. */
static bool reserve_bytes(size_t length)
{
	if (__atomic_add_fetch(&used, length, __ATOMIC_RELAXED) <= profile_get()->attr.max_dm_size)
		return true;
	__atomic_sub_fetch(&used, length, __ATOMIC_RELAXED);
	return false;
}

static int allocate_dm(size_t length, uint32_t log_align, void **ret_memory)
{
	size_t align = 1ul << log_align;

	if (!reserve_bytes(length))
		return ENOMEM;
	if (align < SHM_LINE)
		align = SHM_LINE;
	if (posix_memalign(ret_memory, align, length)) {
		__atomic_sub_fetch(&used, length, __ATOMIC_RELAXED);
		return ENOMEM;
	}
	memset(*ret_memory, 0, length);
	return 0;
}

static void release_bytes(struct soft_dm *dm)
{
	free(dm->memory);
	__atomic_sub_fetch(&used, dm->length, __ATOMIC_RELAXED);
}

struct ibv_dm *soft_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct soft_dm *dm;
	void *memory;
	int err;

	err = soft_enter_inherited(context, "alloc_dm");
	if (err)
		return soft_fail(err);
	if (!profile_get()->attr.max_dm_size || attr->comp_mask)
		return soft_fail(EOPNOTSUPP);
	if (!attr->length || attr->length > profile_get()->attr.max_dm_size ||
	    attr->log_align_req > LOG_ALIGN_MAX)
		return soft_fail(EINVAL);
	err = allocate_dm(attr->length, attr->log_align_req, &memory);
	if (err)
		return soft_fail(err);
	dm = dm_new(context, memory, attr->length, soft_serial());
	if (!dm) {
		free(memory);
		__atomic_sub_fetch(&used, attr->length, __ATOMIC_RELAXED);
		return soft_fail(ENOMEM);
	}
	if (soft_ours(context)) {
		pthread_mutex_lock(&soft_mutex);
		dm_add(dm);
		pthread_mutex_unlock(&soft_mutex);
	}
	return &dm->dm;
}

static bool is_busy(const struct soft_dm *dm)
{
	const struct soft_twin *t = &dm->twin;

	do {
		if (container(t, const struct soft_dm, twin)->refs)
			return true;
		t = t->next;
	} while (t != &dm->twin);
	return false;
}

/*
 * Destroy the object, but not the structures that the program still has. Callers hold the object
 * mutex.
 */
static void destroy_dm(struct soft_dm *dm)
{
	struct soft_twin *t = &dm->twin;
	struct soft_dm *left;

	release_bytes(dm);
	do {
		container(t, struct soft_dm, twin)->memory = NULL;
		t = t->next;
	} while (t != &dm->twin);
	while ((t = soft_twin_take_left(&dm->twin))) {
		left = container(t, struct soft_dm, twin);
		dm_del(left);
		free(left);
	}
}

static int free_dm_locked(struct soft_dm *dm)
{
	if (!dm->memory)
		return ENOENT;
	if (is_busy(dm))
		return EBUSY;
	destroy_dm(dm);
	soft_twin_unlink(&dm->twin);
	dm_del(dm);
	return 0;
}

int soft_free_dm(struct ibv_dm *ibdm)
{
	struct soft_dm *dm = to_dm(ibdm);
	int err;

	if (!soft_ours(ibdm->context)) {
		release_bytes(dm); /* a child has inherited or allocated it */
		free(dm);
		return 0;
	}
	err = soft_enter(ibdm->context, "free_dm");
	if (err)
		return err;
	pthread_mutex_lock(&soft_mutex);
	err = free_dm_locked(dm);
	pthread_mutex_unlock(&soft_mutex);
	if (!err)
		free(dm);
	return err;
}

static int check_region(struct ibv_pd *pd, const struct soft_dm *dm, uint64_t off, size_t length,
			unsigned int access)
{
	int err;

	err = soft_enter(pd->context, "reg_dm_mr");
	if (err)
		return err;
	if (access & ~ACCESS || !(access & IBV_ACCESS_ZERO_BASED) ||
	    !context_same_file(pd->context, dm->dm.context))
		return EINVAL;
	if (check_range(dm, off, length))
		return EINVAL;
	return mr_check_access(access);
}

struct ibv_mr *soft_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm, uint64_t off, size_t length,
			      unsigned int access)
{
	struct soft_dm *dm = to_dm(ibdm);
	struct mr_range range = { .length = length, .access = access };
	struct soft_mr *mr;
	int err;

	err = check_region(pd, dm, off, length, access);
	if (err)
		return soft_fail(err);
	range.memory = dm->memory + off;
	mr = mr_new(pd, &range);
	if (!mr)
		return NULL;
	pthread_mutex_lock(&soft_mutex);
	mr->dm = dm;
	dm->refs++;
	pthread_mutex_unlock(&soft_mutex);
	return &mr->mr;
}

void dm_close_all(struct ibv_context *context)
{
	struct soft_dm **p = &all, *dm;

	pthread_mutex_lock(&soft_mutex);
	while ((dm = *p)) {
		if (dm->dm.context != context) {
			p = &dm->next;
			continue;
		}
		*p = dm->next;
		if (dm->memory && soft_twin_is_alone(&dm->twin))
			destroy_dm(dm);
		soft_twin_unlink(&dm->twin);
		if (dm->twin.left)
			free(dm);
	}
	pthread_mutex_unlock(&soft_mutex);
}

/* In a child: forget inherited objects. */
void dm_forget(void)
{
	all = NULL;
}
