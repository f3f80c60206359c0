#pragma once
/*
 * Memory of a recorded process: its addresses to ours.
 *
 * First all ranges are given, then they are mapped; ranges that overlap or
 * share a page keep their distance, so that what overlapped there overlaps
 * here. Nothing is reserved: a page costs memory when it is first written.
 * One thread.
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
 * A range that the process used; before memory_map(). One that is no memory
 * (empty, over the end of the address space, beyond all sense) is left out.
 * Returns 0 or -ENOMEM.
 */
int memory_add(struct memory *memory, uint64_t addr, uint64_t length);

/* Is that all of the address space: an implicit region, of which only what is used is a range? */
bool memory_is_all(uint64_t addr, uint64_t length);

/* Bytes that memory_map() will take: a device that registers a region has all of it in memory. */
uint64_t memory_size(struct memory *memory);

/* Make it all. Returns 0 or -errno after log_err(). */
int memory_map(struct memory *memory);

/* Where @addr is here; NULL if it is in none of the ranges. */
void *memory_at(const struct memory *memory, uint64_t addr);

/* Are @length bytes at @at among what memory_at() gives? */
bool memory_holds(const struct memory *memory, const void *at, uint64_t length);

/* At least @length bytes for what is in no range; contents mean nothing. NULL without memory. */
void *memory_scratch(struct memory *memory, uint64_t length);

/* An address where there is no memory, for what failed with EFAULT. */
void *memory_hole(struct memory *memory);
