#pragma once
/*
 * Moving bytes between scatter lists, within and between processes.
 */
#include "shim/soft/fabric/copy_list.h"
#include "shim/soft/fabric/peer.h"

/*
 * Copy all of @local to @remote, which has the same length and is in the address space of @peer.
 * copy_get(): the reverse. 0; -ESRCH: the peer is dead; -EFAULT; -EAGAIN: the peer must copy the
 * data itself and has not done so yet. The lists are consumed.
 */
int copy_put_lists(struct peer *peer, struct copy_list *local, struct copy_list *remote);
int copy_get(struct peer *peer, struct copy_list *local, struct copy_list *remote);

static inline int copy_put(struct peer *peer, struct copy_list *local, struct copy_list *remote)
{
	if (unlikely(peer->seg != segment_own || local->count != 1 || remote->count != 1 ||
		     remote->paged || local->nulls | remote->nulls))
		return copy_put_lists(peer, local, remote);
	/* source and destination may overlap */
	memmove(remote->iov->iov_base, local->iov->iov_base,
		local->iov->iov_len < remote->iov->iov_len ? local->iov->iov_len
							   : remote->iov->iov_len);
	return 0;
}

/*
 * Copy all of @from to @to, of the same length, both in this process, for a sender that must not
 * crash: -EFAULT if the program has unmapped a part of either.
 */
int copy_put_guarded(struct copy_list *from, struct copy_list *to);

/*
 * Copy @len bytes to memory of this process. The program may have unmapped some of it: bytes for
 * unmapped memory are dropped.
 */
void copy_to_own_memory(const struct copy_list *to, const uint8_t *from, uint64_t len);
