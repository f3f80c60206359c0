/*
 * Scatter lists: checking keys, cutting and skipping
 *
 * Entries of a null region have no memory: reads return zeros, writes are discarded. This module
 * faults in pages of on-demand regions.
 */
#include "shim/soft/fabric/copy_list.h"

#include <string.h>

#include "shim/soft/fabric/pages.h"
#include "shim/soft/fabric/segment.h"

static inline void add_entry(struct copy_list *list, const struct shm_mr *mr, uint64_t addr,
			     uint64_t len)
{
	unsigned int i = list->count++;

	if (unlikely(mr->access & KEY_SPECIAL)) {
		list->paged |= mr->access & IBV_ACCESS_ON_DEMAND;
		if (mr->access & SHM_MR_NULL)
			list->nulls |= 1ull << i;
	}
	list->iov[i].iov_base = (void *)(mr->addr + (addr - mr->iova));
	list->iov[i].iov_len = len;
}

bool copy_list_populate(const struct copy_list *list, bool write)
{
	unsigned int i;

	for (i = 0; i < list->count; i++)
		if (!copy_list_is_null(list, i) &&
		    pages_populate(list->iov[i].iov_base, list->iov[i].iov_len, write))
			return false;
	return true;
}

static void clear_list(struct copy_list *list)
{
	list->count = 0;
	list->nulls = 0;
	list->paged = 0;
}

bool copy_list_check_all(struct shm_seg *seg, uint32_t pd, uint32_t access,
			 const struct ibv_sge *sge, uint32_t num, uint64_t length,
			 struct copy_list *list)
{
	const struct shm_mr *mr;
	struct ibv_sge one;
	uint64_t len;

	clear_list(list);
	for (; num && length; num--) {
		one = key_read_sge(sge++);
		if (!one.length)
			continue;
		len = one.length < length ? one.length : length;
		mr = key_check(seg, pd, 0, access, one.addr, len, one.lkey, false);
		if (!mr)
			return false;
		length -= len;
		add_entry(list, mr, one.addr, len);
	}
	return likely(!list->paged) || seg != segment_own ||
	       copy_list_populate(list, access & IBV_ACCESS_LOCAL_WRITE);
}

bool copy_list_check_remote(struct shm_seg *seg, uint32_t pd, uint32_t qpn, uint32_t access,
			    uint64_t addr, uint32_t rkey, uint64_t length, struct copy_list *list)
{
	const struct shm_mr *mr;

	clear_list(list);
	/* the key of a request without data is not checked (C9-88) */
	if (!length)
		return true;
	mr = key_check(seg, pd, qpn, access, addr, length, rkey, true);
	if (mr)
		add_entry(list, mr, addr, length);
	return mr;
}

void copy_list_gather_all(uint8_t *to, const struct copy_list *from)
{
	unsigned int i;

	for (i = 0; i < from->count; i++) {
		if (unlikely(copy_list_is_null(from, i)))
			memset(to, 0, from->iov[i].iov_len);
		else
			memcpy(to, from->iov[i].iov_base, from->iov[i].iov_len);
		to += from->iov[i].iov_len;
	}
}

void copy_list_scatter_all(const struct copy_list *to, const uint8_t *from, uint64_t len)
{
	unsigned int i;
	size_t n;

	for (i = 0; i < to->count && len; i++) {
		n = to->iov[i].iov_len < len ? to->iov[i].iov_len : len;
		if (likely(!copy_list_is_null(to, i)))
			memcpy(to->iov[i].iov_base, from, n);
		from += n;
		len -= n;
	}
}

void copy_list_advance(struct copy_list *list, unsigned int *first, size_t n)
{
	struct iovec *iov;

	while (*first < list->count) {
		iov = &list->iov[*first];
		if (n < iov->iov_len) {
			iov->iov_base = (char *)iov->iov_base + n;
			iov->iov_len -= n;
			return;
		}
		n -= iov->iov_len;
		++*first;
	}
}

void copy_list_prepend(struct copy_list *list, void *base, size_t len)
{
	memmove(list->iov + 1, list->iov, list->count++ * sizeof(*list->iov));
	list->iov[0] = (struct iovec){ base, len };
	list->nulls <<= 1;
}

void copy_list_skip(struct copy_list *list, size_t len)
{
	unsigned int first = 0;

	copy_list_advance(list, &first, len);
	list->count -= first;
	list->nulls >>= first;
	memmove(list->iov, list->iov + first, list->count * sizeof(*list->iov));
}

uint64_t copy_list_cut(struct copy_list *list, uint64_t max, struct copy_list *piece)
{
	unsigned int first = 0, i;
	uint64_t len = 0, n;

	clear_list(piece);
	for (i = 0; i < list->count && len < max; i++) {
		n = list->iov[i].iov_len;
		if (n > max - len)
			n = max - len;
		piece->iov[piece->count].iov_base = list->iov[i].iov_base;
		piece->iov[piece->count++].iov_len = n;
		len += n;
	}
	copy_list_advance(list, &first, len);
	list->count -= first;
	memmove(list->iov, list->iov + first, list->count * sizeof(*list->iov));
	return len;
}
