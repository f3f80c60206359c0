/*
 * Scatter lists, and the bytes behind their keys
 *
 * Bytes of another process go through process_vm_writev() and _readv(), or
 * where the kernel forbids them, through that process's hands (stage.c).
 *
 * Entries of a null region have no memory: reading gives zeros, what is
 * written is gone. On-demand regions have their page faults here.
 */
#include "shim/soft/fabric/copy.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shim/soft/fabric/pages.h"
#include "shim/soft/fabric/stage.h"

static inline void add(struct copy_list *list, const struct shm_mr *mr,
		       uint64_t addr, uint64_t len)
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

static bool is_null(const struct copy_list *list, unsigned int i)
{
	return list->nulls >> i & 1;
}

/* Page faults of the device; the pages are ours. */
static bool fault_in(const struct copy_list *list, bool write)
{
	unsigned int i;

	for (i = 0; i < list->count; i++)
		if (!is_null(list, i) &&
		    pages_bring_in(list->iov[i].iov_base, list->iov[i].iov_len,
				   write))
			return false;
	return true;
}

static void clear(struct copy_list *list)
{
	list->count = 0;
	list->nulls = 0;
	list->paged = 0;
}

bool copy_check_list(struct shm_seg *seg, uint32_t pd, uint32_t access,
		     const struct ibv_sge *sge, uint32_t num, uint64_t length,
		     struct copy_list *list)
{
	const struct shm_mr *mr;
	struct ibv_sge one;
	uint64_t len;

	clear(list);
	for (; num; num--) {
		one = key_read_sge(sge++);
		if (!one.length)
			continue;
		mr = key_check(seg, pd, 0, access, one.addr, one.length,
			       one.lkey, false);
		if (!mr)
			return false;
		len = one.length < length ? one.length : length;
		length -= len;
		if (len)
			add(list, mr, one.addr, len);
	}
	return likely(!list->paged) || seg != fabric_seg ||
		fault_in(list, access & IBV_ACCESS_LOCAL_WRITE);
}

bool copy_check_remote(struct shm_seg *seg, uint32_t pd, uint32_t qpn,
		       uint32_t access, uint64_t addr, uint32_t rkey,
		       uint64_t length, struct copy_list *list)
{
	const struct shm_mr *mr;

	clear(list);
	/* without bytes the key is not looked at (C9-88) */
	if (!length)
		return true;
	mr = key_check(seg, pd, qpn, access, addr, length, rkey, true);
	if (mr)
		add(list, mr, addr, length);
	return mr;
}

void copy_gather_list(uint8_t *to, const struct copy_list *from)
{
	unsigned int i;

	for (i = 0; i < from->count; i++) {
		if (unlikely(is_null(from, i)))
			memset(to, 0, from->iov[i].iov_len);
		else
			memcpy(to, from->iov[i].iov_base, from->iov[i].iov_len);
		to += from->iov[i].iov_len;
	}
}

void copy_scatter_list(const struct copy_list *to, const uint8_t *from,
		       uint64_t len)
{
	unsigned int i;
	size_t n;

	for (i = 0; i < to->count && len; i++) {
		n = to->iov[i].iov_len < len ? to->iov[i].iov_len : len;
		if (likely(!is_null(to, i)))
			memcpy(to->iov[i].iov_base, from, n);
		from += n;
		len -= n;
	}
}

/* Step over the first @n bytes. */
static void advance(struct copy_list *list, unsigned int *first, size_t n)
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

void copy_prepend(struct copy_list *list, void *base, size_t len)
{
	memmove(list->iov + 1, list->iov, list->count++ * sizeof(*list->iov));
	list->iov[0] = (struct iovec){ base, len };
	list->nulls <<= 1;
}

void copy_skip(struct copy_list *list, size_t len)
{
	unsigned int first = 0;

	advance(list, &first, len);
	list->count -= first;
	list->nulls >>= first;
	memmove(list->iov, list->iov + first, list->count * sizeof(*list->iov));
}

uint64_t copy_cut(struct copy_list *list, uint64_t max, struct copy_list *piece)
{
	unsigned int first = 0, i;
	uint64_t len = 0, n;

	clear(piece);
	for (i = 0; i < list->count && len < max; i++) {
		n = list->iov[i].iov_len;
		if (n > max - len)
			n = max - len;
		piece->iov[piece->count].iov_base = list->iov[i].iov_base;
		piece->iov[piece->count++].iov_len = n;
		len += n;
	}
	advance(list, &first, len);
	list->count -= first;
	memmove(list->iov, list->iov + first, list->count * sizeof(*list->iov));
	return len;
}

/* Source and destination may be the same memory. */
static void copy_here(struct copy_list *to, struct copy_list *from)
{
	unsigned int t = 0, f = 0;
	size_t n;

	while (t < to->count && f < from->count) {
		n = to->iov[t].iov_len;
		if (from->iov[f].iov_len < n)
			n = from->iov[f].iov_len;
		memmove(to->iov[t].iov_base, from->iov[f].iov_base, n);
		advance(to, &t, n);
		advance(from, &f, n);
	}
}

typedef ssize_t process_vm_fn(pid_t pid, const struct iovec *local,
			      unsigned long num_local,
			      const struct iovec *remote,
			      unsigned long num_remote, unsigned long flags);

typedef int staged_fn(struct fabric_peer *peer, struct copy_list *local,
		      struct copy_list *remote);

/* The kernel may stop short, at 2 GiB or at a fault. */
static int copy_vm(process_vm_fn *move, int pid, struct copy_list *local,
		   struct copy_list *remote)
{
	unsigned int l = 0, r = 0;
	ssize_t n;

	while (l < local->count && r < remote->count) {
		n = move(pid, local->iov + l, local->count - l, remote->iov + r,
			 remote->count - r, 0);
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EFAULT;
		advance(local, &l, n);
		advance(remote, &r, n);
	}
	return 0;
}

/* Once refused, always; it is refused before anything is copied. */
static int copy_across(struct fabric_peer *peer, process_vm_fn *move,
		       staged_fn *staged, struct copy_list *local,
		       struct copy_list *remote)
{
	int err;

	if (likely(!__atomic_load_n(&peer->forbidden, __ATOMIC_RELAXED))) {
		err = copy_vm(move, peer->pid, local, remote);
		if (likely(err != -EPERM && err != -ENOSYS))
			return err;
		__atomic_store_n(&peer->forbidden, 1, __ATOMIC_RELAXED);
	}
	return staged(peer, local, remote);
}

static int put(struct fabric_peer *peer, struct copy_list *local,
	       struct copy_list *remote)
{
	if (peer->seg != fabric_seg)
		return copy_across(peer, process_vm_writev, stage_put, local,
				   remote);
	if (unlikely(remote->paged) && !fault_in(remote, true))
		return -EFAULT;
	copy_here(remote, local);
	return 0;
}

static int get(struct fabric_peer *peer, struct copy_list *local,
	       struct copy_list *remote)
{
	if (peer->seg != fabric_seg)
		return copy_across(peer, process_vm_readv, stage_get, local,
				   remote);
	if (unlikely(remote->paged) && !fault_in(remote, false))
		return -EFAULT;
	copy_here(local, remote);
	return 0;
}

static struct copy_list one_of(const struct copy_list *list, unsigned int i,
			       size_t n)
{
	struct copy_list one = { .count = 1, .paged = list->paged };

	one.iov[0].iov_base = list->iov[i].iov_base;
	one.iov[0].iov_len = n;
	return one;
}

static const uint8_t zeros[16384];

/* Piece by piece, where entries have no memory. */
static int put_pieces(struct fabric_peer *peer, struct copy_list *local,
		      struct copy_list *remote)
{
	unsigned int l = 0, r = 0;
	struct copy_list from, to;
	size_t n;
	int err = 0;

	while (!err && l < local->count && r < remote->count) {
		n = local->iov[l].iov_len;
		if (remote->iov[r].iov_len < n)
			n = remote->iov[r].iov_len;
		if (is_null(local, l) && n > sizeof(zeros))
			n = sizeof(zeros);
		from = one_of(local, l, n);
		to = one_of(remote, r, n);
		if (is_null(local, l))
			from.iov[0].iov_base = (void *)zeros;
		if (!is_null(remote, r))
			err = put(peer, &from, &to);
		advance(local, &l, n);
		advance(remote, &r, n);
	}
	return err;
}

/* A null region cannot be read by others: it has no remote key. */
static int get_pieces(struct fabric_peer *peer, struct copy_list *local,
		      struct copy_list *remote)
{
	unsigned int l = 0, r = 0;
	struct copy_list from, to;
	size_t n;
	int err = 0;

	while (!err && l < local->count && r < remote->count) {
		n = local->iov[l].iov_len;
		if (remote->iov[r].iov_len < n)
			n = remote->iov[r].iov_len;
		from = one_of(remote, r, n);
		to = one_of(local, l, n);
		if (!is_null(local, l))
			err = get(peer, &to, &from);
		advance(local, &l, n);
		advance(remote, &r, n);
	}
	return err;
}

int copy_put_lists(struct fabric_peer *peer, struct copy_list *local,
		   struct copy_list *remote)
{
	if (unlikely(local->nulls | remote->nulls))
		return put_pieces(peer, local, remote);
	return put(peer, local, remote);
}

int copy_get(struct fabric_peer *peer, struct copy_list *local,
	     struct copy_list *remote)
{
	if (unlikely(local->nulls))
		return get_pieces(peer, local, remote);
	return get(peer, local, remote);
}
