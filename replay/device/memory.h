#pragma once
/*
 * Memory of a recorded process: maps its addresses to those of the replay.
 *
 * First all ranges are added, then they are mapped. Ranges that overlap or share a page keep their
 * distance, so that ranges that overlapped still overlap. A page costs memory when it is first
 * written. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory;

/* Returns 0 or -ENOMEM. */
int memory_new(struct memory **ret_memory);

/* Accepts NULL. Unmaps the memory that memory_at() and memory_scratch() returned. */
void memory_free(struct memory *memory);

/*
 * Add a range that the process used; before memory_map(). Ranges that cannot be memory (empty,
 * beyond the address space, absurdly long) are ignored. Returns 0 or -ENOMEM.
 */
int memory_add(struct memory *memory, uint64_t addr, uint64_t length);

/* Is the range the whole address space, an implicit region? Only its used parts are added. */
bool memory_is_all(uint64_t addr, uint64_t length);

/* Bytes that memory_map() will map; registering a region allocates all of it. */
uint64_t memory_size(struct memory *memory);

/* Map all ranges. Returns 0 or -errno after log_err(). */
int memory_map(struct memory *memory);

/*
 * Call @map for everything that is or will be mapped, including scratch memory; after memory_map().
 * Returns 0 or -errno after log_err(), or the error of @map.
 */
int memory_share(struct memory *memory, int (*map)(const void *at, size_t size, int protection));

/* The address in the replay for @addr; NULL if it is in none of the ranges. */
void *memory_at(const struct memory *memory, uint64_t addr);

/* Like memory_at(), if all @length bytes from @addr on are in one range; else NULL. */
void *memory_span(const struct memory *memory, uint64_t addr, uint64_t length);

/* Are the @length bytes at @at in memory that memory_at() returns? */
bool memory_holds(const struct memory *memory, const void *at, uint64_t length);

/* At least @length bytes, for addresses in no range; contents do not matter. NULL: no memory. */
void *memory_scratch(struct memory *memory, uint64_t length);

/* An address that is not mapped, for calls that failed with EFAULT. */
void *memory_guard_page(struct memory *memory);
