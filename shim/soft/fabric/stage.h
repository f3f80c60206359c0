#pragma once
/*
 * Copying by the owner's side, where the kernel forbids process_vm_writev()
 * and _readv(). Any thread, unless a comment says otherwise.
 */
#include "shim/soft/fabric/copy.h"

/*
 * As copy_put() and copy_get(), to another process. Also -EAGAIN: it did
 * not answer for some milliseconds, and nothing of the last piece was or
 * will be copied.
 */
int stage_put(struct fabric_peer *peer, struct copy_list *local,
	      struct copy_list *remote);
int stage_get(struct fabric_peer *peer, struct copy_list *local,
	      struct copy_list *remote);

/* Can this process use process_vm at all? VERBATIM_SOFT_VM=off: no. */
bool stage_needed(void);

/* We connect to @qpn: will its process ask us to copy? Then be ready. */
void stage_expect(uint32_t qpn);

/* Does anybody ask us? One load; only while the fabric is joined. */
static inline bool stage_asked(void)
{
	/* pairs with the store of ring() */
	return unlikely(__atomic_load_n(&fabric_seg->stage.asked,
					__ATOMIC_ACQUIRE));
}

/* Copy what was asked for, unless another thread does. */
void stage_serve(void);

/* Nobody copies between these: regions may change. */
void stage_hold(void);
void stage_release(void);

/* The segment is about to be unmapped: end the thread. */
void stage_stop(void);

/* In a child: the thread was not inherited. */
void stage_forget(void);
