#pragma once
/*
 * Copying by the owner of the memory, if the kernel forbids process_vm_writev() and _readv(). Any
 * thread, unless a comment says otherwise.
 */
#include "shim/soft/fabric/copy_list.h"
#include "shim/soft/fabric/peer.h"

/*
 * As copy_put() and copy_get(), to another process. Also -EAGAIN: the process did not answer for
 * some milliseconds, and nothing of the last piece has been or will be copied.
 */
int stage_put(struct peer *peer, struct copy_list *local, struct copy_list *remote);
int stage_get(struct peer *peer, struct copy_list *local, struct copy_list *remote);

/* Called on connecting to @peer: start the helper if @peer will need this process to copy. */
void stage_expect(const struct peer *peer);

/* Is a copy requested? One load; only while the fabric is joined. */
static inline bool stage_asked(void)
{
	/* pairs with the store of wake_owner() */
	return unlikely(__atomic_load_n(&segment_own->stage.asked, __ATOMIC_ACQUIRE));
}

/* Execute the requested copies, unless another thread does. */
void stage_serve(void);

/*
 * Allow peers to copy from and to the region in @slot of the table of keys, at @memory; move it;
 * and remove it. After stage_move_region() and stage_remove_region(), nothing copies from or to the
 * old memory.
 */
void stage_add_region(uint32_t slot, void *memory, size_t bytes);
void stage_move_region(uint32_t slot, void *memory, size_t bytes);
void stage_remove_region(uint32_t slot);

/* The segment is about to be unmapped: end the thread. */
void stage_stop(void);

/* In a child: the thread was not inherited. */
void stage_forget(void);
