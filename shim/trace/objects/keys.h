#pragma once
/*
 * The program's memory of each local key.
 *
 * A buffer is read through its key, as the device does it: addresses in a region may differ from
 * the program's addresses (ibv_reg_mr_iova). Any thread.
 */
#include <infiniband/verbs.h>

#include "core/wire/event.h"

/* A region was registered or changed: its address @iova corresponds to @addr in the program. */
void keys_add(const struct ibv_mr *mr, uint64_t iova, const void *addr, uint64_t length);

/*
 * A region was registered whose memory the program cannot read: memory of a device or of another
 * process, or none.
 */
void keys_add_foreign(const struct ibv_mr *mr);

/* A region has a new key, and the same memory. */
void keys_change_key(const struct ibv_mr *mr);

/* The region at this address was deregistered. */
void keys_remove(const struct ibv_mr *mr);

/* In a child of fork(): the parent's regions do not belong to it. */
void keys_forget_all(void);

/*
 * Find the program's memory for @length bytes at @addr. PAYLOAD_WHOLE, or the reason why it is
 * unknown.
 */
enum payload_why keys_find(const struct ibv_context *context, uint32_t lkey, uint64_t addr,
			   uint32_t length, uint64_t *ret_at);
