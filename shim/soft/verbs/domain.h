#pragma once
/*
 * Memory for queues from the allocator of a parent domain.
 */
#include "shim/soft/transport/objects.h"

/* The lower half of the resource_type that an allocator gets. */
enum domain_resource { DOMAIN_SEND_QUEUE = 1 };

/*
 * Zeroed memory, aligned to a cache line. @pd may be NULL. 0 or -ENOMEM; free it with
 * domain_free(), which accepts a zeroed structure.
 */
int domain_alloc(struct ibv_pd *pd, size_t size, enum domain_resource type,
		 struct soft_memory *ret_memory);
void domain_free(struct soft_memory *memory);

bool domain_is_parent(const struct ibv_pd *pd);

/* Release the references that a parent domain has. */
void domain_drop(struct soft_pd *pd);

struct ibv_td *soft_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int soft_dealloc_td(struct ibv_td *td);
struct ibv_pd *soft_alloc_parent_domain(struct ibv_context *context,
					struct ibv_parent_domain_init_attr *attr);
