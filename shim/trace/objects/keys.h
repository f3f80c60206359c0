#pragma once
/*
 * The memory of the program that each local key stands for.
 *
 * A buffer is captured through its key, as the device reads it: the addresses
 * of a region may differ from the program's (ibv_reg_mr_iova). Any thread.
 */
#include <infiniband/verbs.h>

#include "core/wire/event.h"

/* A region is registered or changed: address @iova of it is the program's @addr. */
void keys_add(const struct ibv_mr *mr, uint64_t iova, const void *addr, uint64_t length);

/* A region whose memory the program cannot read: a device's, another process's, none. */
void keys_add_foreign(const struct ibv_mr *mr);

/* A region has a new key, and the same memory. */
void keys_rename(const struct ibv_mr *mr);

/* The region at this address is gone. */
void keys_remove(const struct ibv_mr *mr);

/* In a child of fork(): it has no regions of its parent's. */
void keys_forget_all(void);

/* Where @length bytes at @addr lie in the program's memory. PAYLOAD_WHOLE, or why it is unknown. */
enum payload_why keys_find(const struct ibv_context *context, uint32_t lkey, uint64_t addr,
			   uint32_t length, uint64_t *ret_at);
