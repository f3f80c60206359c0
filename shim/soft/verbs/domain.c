/*
 * Thread domains and parent domains
 *
 * A parent domain is another pointer for its protection domain: it has the same number, and regions
 * and queue pairs compare only numbers. It is busy while it has objects; while it exists, its
 * protection domain and thread domain are busy.
 *
 * By creating a thread domain, the program promises that no two threads use its objects at the same
 * time. The locks of queues are taken nevertheless, since without contention they cost almost
 * nothing.
 *
 * The allocator of a parent domain provides the memory of send queues, which is private to this
 * process. Memory that peers access is in the segment.
 *
 * Source: ibv_alloc_parent_domain(3), ibv_alloc_td(3).
 */
#include "shim/soft/verbs/domain.h"

#include <stdlib.h>

#include "shim/soft/verbs/enter.h"

enum {
	/*
	 * a flag that only newer headers have: a buffer may be in memory that a confidential guest
	 * shares
	 */
	ALLOW_CC_UNPROTECTED_ALLOC = 1 << 2,
	KNOWN = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT |
		ALLOW_CC_UNPROTECTED_ALLOC,
};

struct soft_td {
	struct ibv_td td;
	unsigned int refs;
};

struct soft_parent {
	struct soft_pd *pd;
	struct soft_td *td; /* NULL: no thread domain */
	struct ibv_pd *self;
	void *pd_context;
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		       uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type);
};

struct ibv_td *soft_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct soft_td *td;
	int err;

	err = soft_enter(context, "alloc_td");
	if (err)
		return soft_fail(err);
	if (attr->comp_mask)
		return soft_fail(EINVAL);
	td = calloc(1, sizeof(*td));
	if (!td)
		return soft_fail(ENOMEM);
	td->td.context = context;
	return &td->td;
}

int soft_dealloc_td(struct ibv_td *ibtd)
{
	struct soft_td *td = container(ibtd, struct soft_td, td);
	int err;

	err = soft_enter(ibtd->context, "dealloc_td");
	if (err)
		return err;
	if (__atomic_load_n(&td->refs, __ATOMIC_ACQUIRE))
		return EBUSY;
	free(td);
	return 0;
}

static int check_attr(struct ibv_context *context, const struct ibv_parent_domain_init_attr *attr)
{
	int err;

	err = soft_enter(context, "alloc_parent_domain");
	if (err)
		return err;
	if (attr->comp_mask & ~KNOWN)
		return EOPNOTSUPP;
	if (!attr->pd || attr->pd->context != context || (attr->td && attr->td->context != context))
		return EINVAL;
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS &&
	    (!attr->alloc || !attr->free))
		return EINVAL;
	return 0;
}

static void fill_parent(struct soft_parent *parent, struct soft_pd *self,
			const struct ibv_parent_domain_init_attr *attr)
{
	parent->self = &self->pd;
	parent->pd = to_pd(attr->pd);
	__atomic_add_fetch(&parent->pd->refs, 1, __ATOMIC_RELAXED);
	if (attr->td) {
		parent->td = container(attr->td, struct soft_td, td);
		__atomic_add_fetch(&parent->td->refs, 1, __ATOMIC_RELAXED);
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		parent->alloc = attr->alloc;
		parent->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		parent->pd_context = attr->pd_context;
}

struct ibv_pd *soft_alloc_parent_domain(struct ibv_context *context,
					struct ibv_parent_domain_init_attr *attr)
{
	struct soft_parent *parent;
	struct soft_pd *pd;
	int err;

	err = check_attr(context, attr);
	if (err)
		return soft_fail(err);
	pd = calloc(1, sizeof(*pd));
	parent = calloc(1, sizeof(*parent));
	if (!pd || !parent) {
		free(pd);
		free(parent);
		return soft_fail(ENOMEM);
	}
	fill_parent(parent, pd, attr);
	pd->pd.context = context;
	pd->pd.handle = attr->pd->handle;
	pd->parent = parent;
	soft_twin_init(&pd->twin);
	return &pd->pd;
}

bool domain_is_parent(const struct ibv_pd *pd)
{
	return container(pd, const struct soft_pd, pd)->parent;
}

void domain_drop(struct soft_pd *pd)
{
	struct soft_parent *parent = pd->parent;

	__atomic_sub_fetch(&parent->pd->refs, 1, __ATOMIC_RELEASE);
	if (parent->td)
		__atomic_sub_fetch(&parent->td->refs, 1, __ATOMIC_RELEASE);
	free(parent);
	pd->parent = NULL;
}

/*
 * Call the allocator. The upper half of the type is the driver's number; for this device
 * RDMA_DRIVER_UNKNOWN, 0.
 */
static void *call_allocator(struct soft_parent *parent, size_t size, enum domain_resource type)
{
	if (!parent || !parent->alloc)
		return IBV_ALLOCATOR_USE_DEFAULT;
	return parent->alloc(parent->self, parent->pd_context, size, SHM_LINE, type);
}

int domain_alloc(struct ibv_pd *pd, size_t size, enum domain_resource type,
		 struct soft_memory *ret_memory)
{
	struct soft_parent *parent = pd ? to_pd(pd)->parent : NULL;
	void *mem = call_allocator(parent, size, type);

	if (mem == IBV_ALLOCATOR_USE_DEFAULT) {
		parent = NULL;
		if (posix_memalign(&mem, SHM_LINE, size))
			mem = NULL;
	}
	if (!mem)
		return -ENOMEM;
	memset(mem, 0, size);
	*ret_memory = (struct soft_memory){ mem, parent, type };
	return 0;
}

void domain_free(struct soft_memory *memory)
{
	struct soft_parent *parent = memory->from;

	if (parent)
		parent->free(parent->self, parent->pd_context, memory->mem, memory->type);
	else
		free(memory->mem);
	memset(memory, 0, sizeof(*memory));
}
