#pragma once
/*
 * The memory that is registered now, by address: what `record --memory` watches.
 *
 * Any thread asks, without a lock and in signal handlers; the recorder's own lock is taken to add
 * and to remove. Where the answer keeps changing while it is looked for, it is no.
 */
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern atomic_bool ranges_on;

/* The process begins to be recorded; a @child of fork() has no regions of its parent's. */
void ranges_begin(bool on, bool child);

/* A region is registered, or registered anew; it is gone. */
void ranges_add(const struct ibv_mr *mr, const void *addr, uint64_t length);
void ranges_remove(const struct ibv_mr *mr);

/*
 * Huge pages are mapped there, or whatever was is gone: of a mapping that was cut nothing is known.
 * Have all of these bytes huge pages? Of more than RANGES_HUGE mappings that is not known.
 */
enum { RANGES_HUGE = 64 };
void ranges_map(uint64_t addr, uint64_t length, bool huge);
bool ranges_are_huge(uint64_t addr, uint64_t length);

/* Does any region have a byte of these; does any lie in them as a whole? */
bool ranges_touch(uint64_t addr, uint64_t length);
bool ranges_within(uint64_t addr, uint64_t length);
