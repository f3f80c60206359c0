#pragma once
/*
 * Which memory of the program a local key is of.
 *
 * What is captured of a buffer is read through its key, as the device reads it:
 * addresses of a region that was registered with another one (ibv_reg_mr_iova)
 * are not those of the program. Any thread.
 */
#include <infiniband/verbs.h>

#include "core/wire/event.h"

/* A region is registered, or changed: its addresses from @iova on are @addr. */
void keys_add(const struct ibv_mr *mr, uint64_t iova, const void *addr, uint64_t length);

/* A region of memory that the program does not have: of a device, another process, none. */
void keys_add_foreign(const struct ibv_mr *mr);

/* A region has another key, and the same memory. */
void keys_rename(const struct ibv_mr *mr);

/* The region at this address is gone. */
void keys_remove(const struct ibv_mr *mr);

/* In a child: it has none of its parent's. */
void keys_forget_all(void);

/* Where @length bytes at @addr are in the program's memory. PAYLOAD_WHOLE, or why not known. */
enum payload_why keys_find(const struct ibv_context *context, uint32_t lkey, uint64_t addr,
			   uint32_t length, uint64_t *ret_at);
