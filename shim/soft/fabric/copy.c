/*
 * Moving bytes between scatter lists
 *
 * Memory of another process is accessed with process_vm_writev() and _readv(), or, if the kernel
 * forbids these, the other process copies itself (stage.c).
 */
#include "shim/soft/fabric/copy.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shim/soft/fabric/memcheck.h"
#include "shim/soft/fabric/pages.h"
#include "shim/soft/fabric/process.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/fabric/stage.h"

/* Copy within this process. Source and destination may overlap. */
static void copy_within(struct copy_list *to, struct copy_list *from)
{
	unsigned int t = 0, f = 0;
	size_t n;

	while (t < to->count && f < from->count) {
		n = to->iov[t].iov_len;
		if (from->iov[f].iov_len < n)
			n = from->iov[f].iov_len;
		memmove(to->iov[t].iov_base, from->iov[f].iov_base, n);
		copy_list_advance(to, &t, n);
		copy_list_advance(from, &f, n);
	}
}

typedef ssize_t process_vm_fn(pid_t pid, const struct iovec *local, unsigned long num_local,
			      const struct iovec *remote, unsigned long num_remote,
			      unsigned long flags);

typedef int staged_fn(struct peer *peer, struct copy_list *local, struct copy_list *remote);

/* Copy by process_vm calls, repeatedly: one call stops at 2 GiB and at a fault. */
static int copy_vm(process_vm_fn *move, int pid, struct copy_list *local, struct copy_list *remote)
{
	unsigned int l = 0, r = 0;
	ssize_t n;

	while (l < local->count && r < remote->count) {
		n = move(pid, local->iov + l, local->count - l, remote->iov + r, remote->count - r,
			 0);
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EFAULT;
		copy_list_advance(local, &l, n);
		copy_list_advance(remote, &r, n);
	}
	return 0;
}

/*
 * Copy to or from another process. If the kernel refuses, it does so before anything is copied, and
 * always.
 */
static int copy_across(struct peer *peer, process_vm_fn *move, staged_fn *staged,
		       struct copy_list *local, struct copy_list *remote)
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

/* Copy within this process. The program may have unmapped memory of either list. */
static int put_guarded(struct copy_list *from, struct copy_list *to)
{
	int err = memcheck_watches ? -EPERM : copy_vm(process_vm_writev, process_pid(), from, to);

	if (err != -EPERM && err != -ENOSYS)
		return err;
	if (!copy_list_populate(from, false) || !copy_list_populate(to, true))
		return -EFAULT;
	copy_within(to, from);
	return 0;
}

static int put_lists(struct peer *peer, struct copy_list *local, struct copy_list *remote)
{
	if (!peer)
		return put_guarded(local, remote);
	if (peer->seg != segment_own)
		return copy_across(peer, process_vm_writev, stage_put, local, remote);
	if (unlikely(remote->paged) && !copy_list_populate(remote, true))
		return -EFAULT;
	copy_within(remote, local);
	return 0;
}

static int get_lists(struct peer *peer, struct copy_list *local, struct copy_list *remote)
{
	if (peer->seg != segment_own)
		return copy_across(peer, process_vm_readv, stage_get, local, remote);
	if (unlikely(remote->paged) && !copy_list_populate(remote, false))
		return -EFAULT;
	copy_within(local, remote);
	return 0;
}

static struct copy_list make_single_list(const struct copy_list *list, unsigned int i, size_t n)
{
	struct copy_list one = { .count = 1, .paged = list->paged };

	one.iov[0].iov_base = list->iov[i].iov_base;
	one.iov[0].iov_len = n;
	return one;
}

static const uint8_t zeros[16384];

/* Copy entry by entry, since some entries have no memory. */
static int put_pieces(struct peer *peer, struct copy_list *local, struct copy_list *remote)
{
	unsigned int l = 0, r = 0;
	struct copy_list from, to;
	size_t n;
	int err = 0;

	while (!err && l < local->count && r < remote->count) {
		n = local->iov[l].iov_len;
		if (remote->iov[r].iov_len < n)
			n = remote->iov[r].iov_len;
		if (copy_list_is_null(local, l) && n > sizeof(zeros))
			n = sizeof(zeros);
		from = make_single_list(local, l, n);
		to = make_single_list(remote, r, n);
		if (copy_list_is_null(local, l))
			from.iov[0].iov_base = (void *)zeros;
		if (!copy_list_is_null(remote, r))
			err = put_lists(peer, &from, &to);
		copy_list_advance(local, &l, n);
		copy_list_advance(remote, &r, n);
	}
	return err;
}

/* Like put_pieces(), but all entries of @remote have memory: null regions have no remote key. */
static int get_pieces(struct peer *peer, struct copy_list *local, struct copy_list *remote)
{
	unsigned int l = 0, r = 0;
	struct copy_list from, to;
	size_t n;
	int err = 0;

	while (!err && l < local->count && r < remote->count) {
		n = local->iov[l].iov_len;
		if (remote->iov[r].iov_len < n)
			n = remote->iov[r].iov_len;
		from = make_single_list(remote, r, n);
		to = make_single_list(local, l, n);
		if (!copy_list_is_null(local, l))
			err = get_lists(peer, &to, &from);
		copy_list_advance(local, &l, n);
		copy_list_advance(remote, &r, n);
	}
	return err;
}

int copy_put_lists(struct peer *peer, struct copy_list *local, struct copy_list *remote)
{
	if (unlikely(local->nulls | remote->nulls))
		return put_pieces(peer, local, remote);
	return put_lists(peer, local, remote);
}

int copy_put_guarded(struct copy_list *from, struct copy_list *to)
{
	int saved = errno, err = copy_put_lists(NULL, from, to);

	errno = saved;
	return err;
}

int copy_get(struct peer *peer, struct copy_list *local, struct copy_list *remote)
{
	if (unlikely(local->nulls))
		return get_pieces(peer, local, remote);
	return get_lists(peer, local, remote);
}

/* Write by process_vm. False: the kernel refuses it, and nothing was copied. */
static bool write_own_memory(const struct iovec *to, const uint8_t *from, size_t n)
{
	struct iovec local = { (void *)from, n }, remote = { to->iov_base, n };

	return process_vm_writev(process_pid(), &local, 1, &remote, 1, 0) >= 0 ||
	       (errno != EPERM && errno != ENOSYS);
}

void copy_to_own_memory(const struct copy_list *to, const uint8_t *from, uint64_t len)
{
	int caller_errno = errno;
	unsigned int i;
	size_t n;

	for (i = 0; i < to->count && len; i++, from += n, len -= n) {
		n = to->iov[i].iov_len < len ? to->iov[i].iov_len : len;
		if (copy_list_is_null(to, i) ||
		    (!memcheck_watches && write_own_memory(&to->iov[i], from, n)))
			continue;
		if (!pages_populate(to->iov[i].iov_base, n, true))
			memcpy(to->iov[i].iov_base, from, n);
	}
	errno = caller_errno;
}
