#pragma once
/*
 * Copying by the owner's side, where the kernel forbids process_vm_writev()
 * and _readv(). Any thread, unless a comment says otherwise.
 */
#include "shim/soft/fabric/copy_list.h"
#include "shim/soft/fabric/peer.h"

/*
 * As copy_put() and copy_get(), to another process. Also -EAGAIN: it did
 * not answer for some milliseconds, and nothing of the last piece was or
 * will be copied.
 */
int stage_put(struct peer *peer, struct copy_list *local, struct copy_list *remote);
int stage_get(struct peer *peer, struct copy_list *local, struct copy_list *remote);

/* We connect to @peer: if it is going to ask us to copy, start the helper. */
void stage_expect(const struct peer *peer);

/* Does anybody ask us? One load; only while the fabric is joined. */
static inline bool stage_asked(void)
{
	/* pairs with the store of ring_owner() */
	return unlikely(__atomic_load_n(&segment_own->stage.asked, __ATOMIC_ACQUIRE));
}

/* Copy what was asked for, unless another thread does. */
void stage_serve(void);

/*
 * Let peers have bytes copied from and to the region in @slot of the table of keys, at @memory;
 * move it; and remove it. After the last two, nothing copies from or to the old place.
 */
void stage_add_region(uint32_t slot, void *memory, size_t bytes);
void stage_move_region(uint32_t slot, void *memory, size_t bytes);
void stage_remove_region(uint32_t slot);

/* The segment is about to be unmapped: end the thread. */
void stage_stop(void);

/* In a child: the thread was not inherited. */
void stage_forget(void);
