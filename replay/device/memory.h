#pragma once
/*
 * Memory of a recorded process: its addresses to ours.
 *
 * First all ranges are added, then they are mapped. Ranges that overlap or share a
 * page keep their distance, so that what overlapped there overlaps here. A page
 * costs memory when it is first written. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory;

/* Returns 0 or -ENOMEM. */
int memory_new(struct memory **ret_memory);

/* Accepts NULL. Unmaps what memory_at() and memory_scratch() gave. */
void memory_free(struct memory *memory);

/*
 * Add a range that the process used; before memory_map(). A range that cannot be
 * memory (empty, beyond the address space, absurdly long) is ignored.
 * Returns 0 or -ENOMEM.
 */
int memory_add(struct memory *memory, uint64_t addr, uint64_t length);

/* Is that the whole address space? An implicit region: only what is used of it is a range. */
bool memory_is_all(uint64_t addr, uint64_t length);

/* Bytes that memory_map() will map; registering a region puts all of it into memory. */
uint64_t memory_size(struct memory *memory);

/* Map all ranges. Returns 0 or -errno after log_err(). */
int memory_map(struct memory *memory);

/*
 * Give all that is or will be mapped, with its scratch memory, to @map; after memory_map(). Returns
 * 0 or -errno after log_err(), or that of @map.
 */
int memory_share(struct memory *memory, int (*map)(const void *at, size_t size, int protection));

/* Where @addr is here; NULL if it is in none of the ranges. */
void *memory_at(const struct memory *memory, uint64_t addr);

/* The same if all @length bytes from @addr on are in one range; else NULL. */
void *memory_span(const struct memory *memory, uint64_t addr, uint64_t length);

/* Are @length bytes at @at within what memory_at() returns? */
bool memory_holds(const struct memory *memory, const void *at, uint64_t length);

/* At least @length bytes, for addresses in no range; contents do not matter. NULL: no memory. */
void *memory_scratch(struct memory *memory, uint64_t length);

/* An address without memory, for calls that failed with EFAULT. */
void *memory_hole(struct memory *memory);
