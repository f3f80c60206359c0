#pragma once
/*
 * Moving bytes between scatter lists, within and between processes.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "shim/soft/fabric.h"

struct copy_list {
	unsigned int	count;
	uint32_t	paged;	/* some region is on-demand: it may fault */
	uint64_t	nulls;	/* those entries, by bit, have no memory */
	struct iovec	iov[SHM_SGE_MAX + 1];	/* and a header */
};

/*
 * Check @sge against the memory regions of @seg for @access (enum
 * ibv_access_flags, 0 for reading) in protection domain @pd, and list where
 * the first @length bytes of them lie. False if one check fails. In our own
 * segment, pages of on-demand regions are brought in (false if they can't
 * be); a peer's may be missing: @list->paged must go by copy_put() or _get().
 */
bool copy_check(struct shm_seg *seg, uint32_t pd, uint32_t access,
		const struct ibv_sge *sge, uint32_t num, uint64_t length,
		struct copy_list *list);

/*
 * The same for a remote key that is used on queue pair @qpn of @seg; pages
 * are brought in by copy_put() or _get().
 */
bool copy_check_remote(struct shm_seg *seg, uint32_t pd, uint32_t qpn,
		       uint32_t access, uint64_t addr, uint32_t rkey,
		       uint64_t length, struct copy_list *list);

/* Put one more in front: @len bytes at @base. */
void copy_prepend(struct copy_list *list, void *base, size_t len);

/* Take the first @len bytes off. */
void copy_skip(struct copy_list *list, size_t len);

void copy_gather(uint8_t *to, const struct copy_list *from);
void copy_scatter(const struct copy_list *to, const uint8_t *from, uint64_t len);

/*
 * Move the first bytes of @list, up to @max, to @piece. How many, 0 at its
 * end.
 */
uint64_t copy_cut(struct copy_list *list, uint64_t max, struct copy_list *piece);

/*
 * All of @local to @remote, which has the same length, in the address space
 * of @peer, or the other way. 0, -ESRCH: it is dead, -EFAULT, -EAGAIN: it must
 * help, and did not come to it yet. The lists are used up.
 */
int copy_put(struct fabric_peer *peer, struct copy_list *local,
	     struct copy_list *remote);
int copy_get(struct fabric_peer *peer, struct copy_list *local,
	     struct copy_list *remote);
