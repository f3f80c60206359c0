#pragma once
/*
 * Copying by the owner of the memory, if the kernel forbids process_vm_writev() and _readv(). Any
 * thread, unless a comment says otherwise.
 */
#include "shim/soft/fabric/copy_list.h"
#include "shim/soft/fabric/peer.h"

/*
 * Like copy_put() and copy_get() with another process; also -EAGAIN: that process did not answer
 * for some milliseconds, and the last piece was not and will not be copied.
 */
int stage_put(struct peer *peer, struct copy_list *local, struct copy_list *remote);
int stage_get(struct peer *peer, struct copy_list *local, struct copy_list *remote);

/*
 * Called when a queue pair connects to @peer: start the helper if @peer will need this process to
 * copy.
 */
void stage_expect(const struct peer *peer);

/* Has a peer requested a copy? One load; call it only while the fabric is joined. */
static inline bool stage_is_requested(void)
{
	/* pairs with the store of wake_owner() */
	return unlikely(__atomic_load_n(&segment_own->stage.asked, __ATOMIC_ACQUIRE));
}

/* Execute the requested copies, unless another thread is doing that. */
void stage_serve(void);

/*
 * Allow peers to copy from and to the region in @slot of the table of keys, at @memory; change its
 * memory; end it. When stage_move_region() or stage_remove_region() returns, no copy uses the old
 * memory any more.
 */
void stage_add_region(uint32_t slot, void *memory, size_t bytes);
void stage_move_region(uint32_t slot, void *memory, size_t bytes);
void stage_remove_region(uint32_t slot);

/* The segment is about to be unmapped: end the thread. */
void stage_stop(void);

/* In a child: the thread was not inherited. */
void stage_forget(void);
