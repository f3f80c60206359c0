#pragma once
/*
 * Scatter lists: the memory that the SGEs of a request refer to.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "shim/soft/fabric/key.h"

struct copy_list {
	unsigned int count;
	uint32_t paged; /* a region is on-demand: copying may fault */
	/* bit i: entry i has no memory; one bit more, for a header */
	uint64_t nulls;
	struct iovec iov[SHM_SGE_MAX + 1]; /* one more, for a header */
};

/*
 * Check the first @length bytes of @sge against the memory regions of @seg for @access (enum
 * ibv_access_flags, 0 for reading) in protection domain @pd, and list their memory; later bytes are
 * not checked, as on hardware. False if a check fails. In the own segment, pages of on-demand
 * regions are faulted in (false if that fails). Pages of a peer may be missing: if @list->paged,
 * use copy_put() or copy_get().
 */
bool copy_list_check_all(struct shm_seg *seg, uint32_t pd, uint32_t access,
			 const struct ibv_sge *sge, uint32_t num, uint64_t length,
			 struct copy_list *list);

/* The fast path for the usual list: one entry of plain memory. False: use copy_list_check_all(). */
static inline bool copy_list_check_one(const struct shm_seg *seg, uint32_t pd, uint32_t access,
				       const struct ibv_sge *sge, uint64_t length,
				       struct copy_list *list)
{
	struct ibv_sge one = key_read_sge(sge);
	uint64_t len = one.length < length ? one.length : length;
	const struct shm_mr *mr = key_check(seg, pd, 0, access, one.addr, len, one.lkey, false);

	if (unlikely(!mr || !len || mr->access & KEY_SPECIAL))
		return false;
	list->count = 1;
	list->paged = 0;
	list->nulls = 0;
	list->iov->iov_base = (void *)(mr->addr + (one.addr - mr->iova));
	list->iov->iov_len = len;
	return true;
}

static inline bool copy_list_check(struct shm_seg *seg, uint32_t pd, uint32_t access,
				   const struct ibv_sge *sge, uint32_t num, uint64_t length,
				   struct copy_list *list)
{
	return likely(num == 1 && length &&
		      copy_list_check_one(seg, pd, access, sge, length, list)) ||
	       copy_list_check_all(seg, pd, access, sge, num, length, list);
}

/*
 * The same for a remote key that is used on queue pair @qpn of @seg; copy_put() or copy_get()
 * faults pages in.
 */
bool copy_list_check_remote(struct shm_seg *seg, uint32_t pd, uint32_t qpn, uint32_t access,
			    uint64_t addr, uint32_t rkey, uint64_t length, struct copy_list *list);

/* Insert an entry at the front: the @len bytes at @base. */
void copy_list_prepend(struct copy_list *list, void *base, size_t len);

/* Remove the first @len bytes. */
void copy_list_skip(struct copy_list *list, size_t len);

void copy_list_gather_all(uint8_t *to, const struct copy_list *from);
static inline void copy_list_gather(uint8_t *to, const struct copy_list *from)
{
	if (likely(from->count == 1 && !from->nulls))
		memcpy(to, from->iov->iov_base, from->iov->iov_len);
	else
		copy_list_gather_all(to, from);
}

void copy_list_scatter_all(const struct copy_list *to, const uint8_t *from, uint64_t len);
static inline void copy_list_scatter(const struct copy_list *to, const uint8_t *from, uint64_t len)
{
	if (likely(to->count == 1 && !to->nulls && to->iov->iov_len >= len))
		memcpy(to->iov->iov_base, from, len);
	else
		copy_list_scatter_all(to, from, len);
}

/*
 * Move the first bytes of @list, at most @max, to @piece. Returns their number; 0 at the end of
 * @list.
 */
uint64_t copy_list_cut(struct copy_list *list, uint64_t max, struct copy_list *piece);

/*
 * Skip the first @n bytes from entry *@first on; *@first becomes the entry that contains the next
 * byte.
 */
void copy_list_advance(struct copy_list *list, unsigned int *first, size_t n);

/* Is entry @i without memory? */
static inline bool copy_list_is_null(const struct copy_list *list, unsigned int i)
{
	return list->nulls >> i & 1;
}

/* Fault in the pages of a list in this process's memory. False: a page cannot be faulted in. */
bool copy_list_populate(const struct copy_list *list, bool write);
