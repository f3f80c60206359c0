#pragma once
/*
 * The registered memory, by address, for `record --memory`.
 *
 * Queries work in any thread and in signal handlers, without a lock; adding and removing takes the
 * recorder's lock. If the data changes again and again during a query, the answer is no.
 */
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern atomic_bool ranges_on;

/* Recording of the process begins; a @child of fork() has no regions. */
void ranges_begin(bool on, bool child);

/* A region was registered, or changed by ibv_rereg_mr(); ranges_remove(): it was deregistered. */
void ranges_add(const struct ibv_mr *mr, const void *addr, uint64_t length);
void ranges_remove(const struct ibv_mr *mr);

/*
 * ranges_map(): pages were mapped there, with @huge huge pages, or a mapping was removed; after a
 * change of a part, the whole mapping is unknown. ranges_are_huge(): are all of these bytes in huge
 * pages? At most RANGES_HUGE mappings are known.
 */
enum { RANGES_HUGE = 64 };
void ranges_map(uint64_t addr, uint64_t length, bool huge);
bool ranges_are_huge(uint64_t addr, uint64_t length);

/* Does a region overlap these bytes? ranges_within(): is a region completely inside them? */
bool ranges_overlap(uint64_t addr, uint64_t length);
bool ranges_within(uint64_t addr, uint64_t length);
