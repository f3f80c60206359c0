/*
 * The table of objects
 *
 *	buckets by address -> entry -> entry ...    the newest first, of all kinds
 *
 * Entries are never removed, so a reader of a list always reaches its end.
 */
#include "shim/trace/objects/known.h"

#include <stddef.h>
#include <stdint.h>

enum { BITS = 12 };

static _Atomic(struct known *) buckets[1 << BITS];

static _Atomic(struct known *) *find_bucket(const void *address)
{
	uint64_t key = (uint64_t)(uintptr_t)address >> 4;

	return &buckets[key * 0x9e3779b97f4a7c15ull >> (64 - BITS)];
}

void *known_find(const void *address, enum known_kind kind)
{
	/* pairs with the store in known_add() */
	struct known *k = atomic_load_explicit(find_bucket(address), memory_order_acquire);

	while (k && (k->address != address || k->kind != kind))
		k = atomic_load_explicit(&k->next, memory_order_relaxed);
	return k;
}

void known_add(struct known *known, const void *address, enum known_kind kind)
{
	_Atomic(struct known *) *bucket = find_bucket(address);

	known->address = address;
	known->kind = kind;
	atomic_store_explicit(&known->next, atomic_load_explicit(bucket, memory_order_relaxed),
			      memory_order_relaxed);
	/* pairs with the load in known_find() */
	atomic_store_explicit(bucket, known, memory_order_release);
}
