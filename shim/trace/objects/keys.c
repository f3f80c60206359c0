/*
 * The memory of each local key
 *
 *	by key     bucket -> key -> key     read by any thread, without a lock
 *	by region  bucket -> key -> key     to find the key when the region is deregistered
 *
 * Control verbs change keys with the recorder's lock held. The entry of a removed key is reused,
 * and then moves to another bucket. So a reader compares the count of changes before and after
 * reading, and reads again if they differ.
 */
#include "shim/trace/objects/keys.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "shim/trace/base/permit.h"
#include "shim/trace/ring/record.h"

enum { BITS = 12, BUCKETS = 1 << BITS, TRIES = 100 };

struct key {
	_Atomic(struct key *) next;
	struct key *next_region;
	const struct ibv_context *context;
	const struct ibv_mr *mr;
	uint32_t lkey;
	bool foreign;
	uint64_t iova, addr, length;
};

static _Atomic(struct key *) by_key[BUCKETS];
static struct key *by_region[BUCKETS];
static struct key *unused;           /* unused entries, linked by next_region */
static _Atomic unsigned int changes; /* number of changes; odd: a change is in progress */

static unsigned int mix_bits(uint64_t x)
{
	return (unsigned int)(x * 0x9e3779b97f4a7c15ull >> (64 - BITS));
}

static _Atomic(struct key *) *bucket(uint32_t lkey)
{
	return &by_key[mix_bits(lkey)];
}

static struct key **region_bucket(const struct ibv_mr *mr)
{
	return &by_region[mix_bits((uint64_t)(uintptr_t)mr >> 4)];
}

static void unlink_key(struct key *key)
{
	_Atomic(struct key *) *at = bucket(key->lkey);
	struct key *k;

	while ((k = atomic_load_explicit(at, memory_order_relaxed)) && k != key)
		at = &k->next;
	if (k)
		atomic_store_explicit(at, atomic_load_explicit(&k->next, memory_order_relaxed),
				      memory_order_release);
}

static void remove_region(const struct ibv_mr *mr)
{
	struct key **at = region_bucket(mr);

	while (*at) {
		struct key *k = *at;

		if (k->mr != mr) {
			at = &k->next_region;
			continue;
		}
		*at = k->next_region;
		unlink_key(k);
		k->next_region = unused;
		unused = k;
	}
}

static struct key *take_key(void)
{
	struct key *k = unused;

	if (!k)
		return permit_alloc(1, sizeof(*k));
	unused = k->next_region;
	return k;
}

/* Remove an lkey. It may belong to another region, whose deregistration was not seen. */
static void remove_number(const struct ibv_context *context, uint32_t lkey)
{
	struct key *k = atomic_load_explicit(bucket(lkey), memory_order_relaxed);

	while (k && (k->lkey != lkey || k->context != context))
		k = atomic_load_explicit(&k->next, memory_order_relaxed);
	if (k)
		remove_region(k->mr);
}

static void insert_key(const struct key *from)
{
	struct key **region = region_bucket(from->mr);
	struct key *k = take_key();

	if (!k)
		return; /* out of memory: the key remains unknown */
	k->context = from->context;
	k->mr = from->mr;
	k->lkey = from->lkey;
	k->foreign = from->foreign;
	k->iova = from->iova;
	k->addr = from->addr;
	k->length = from->length;
	k->next_region = *region;
	*region = k;
	atomic_store_explicit(&k->next, atomic_load_explicit(bucket(k->lkey), memory_order_relaxed),
			      memory_order_relaxed);
	/* pairs with the load in look_up_key() */
	atomic_store_explicit(bucket(k->lkey), k, memory_order_release);
}

static void begin_change(void)
{
	recording_lock();
	atomic_fetch_add_explicit(&changes, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static void end_change(void)
{
	/* pairs with the load in keys_find() */
	atomic_fetch_add_explicit(&changes, 1, memory_order_release);
	recording_unlock();
}

static void replace_key(const struct key *key)
{
	begin_change();
	remove_region(key->mr);
	remove_number(key->context, key->lkey);
	insert_key(key);
	end_change();
}

void keys_add(const struct ibv_mr *mr, uint64_t iova, const void *addr, uint64_t length)
{
	replace_key(&(struct key){ .context = mr->context,
				   .mr = mr,
				   .lkey = mr->lkey,
				   .iova = iova,
				   .addr = (uint64_t)(uintptr_t)addr,
				   .length = length });
}

void keys_add_foreign(const struct ibv_mr *mr)
{
	replace_key(&(struct key){
		.context = mr->context, .mr = mr, .lkey = mr->lkey, .foreign = true });
}

void keys_change_key(const struct ibv_mr *mr)
{
	struct key copy = { .mr = NULL };
	const struct key *k;

	recording_lock();
	for (k = *region_bucket(mr); k && k->mr != mr;)
		k = k->next_region;
	if (k)
		copy = (struct key){ .context = k->context,
				     .mr = mr,
				     .lkey = mr->lkey,
				     .foreign = k->foreign,
				     .iova = k->iova,
				     .addr = k->addr,
				     .length = k->length };
	recording_unlock();
	if (copy.mr)
		replace_key(&copy);
}

void keys_remove(const struct ibv_mr *mr)
{
	begin_change();
	remove_region(mr);
	end_change();
}

void keys_forget_all(void)
{
	for (int i = 0; i < BUCKETS; i++) {
		atomic_store_explicit(&by_key[i], NULL, memory_order_relaxed);
		by_region[i] = NULL;
	}
	unused = NULL;
	atomic_store_explicit(&changes, 0, memory_order_relaxed);
}

static enum payload_why look_up_key(const struct ibv_context *context, uint32_t lkey, uint64_t addr,
				    uint32_t length, uint64_t *ret_at)
{
	const struct key *k = atomic_load_explicit(bucket(lkey), memory_order_acquire);
	uint64_t offset;

	while (k && (k->lkey != lkey || k->context != context))
		k = atomic_load_explicit(&k->next, memory_order_acquire);
	if (!k)
		return PAYLOAD_KEY;
	if (k->foreign)
		return PAYLOAD_DEVICE;
	offset = addr - k->iova;
	if (offset > k->length || length > k->length - offset)
		/* the device refuses the key, or the recorder does not know it */
		return PAYLOAD_KEY;
	*ret_at = k->addr + offset;
	return PAYLOAD_WHOLE;
}

enum payload_why keys_find(const struct ibv_context *context, uint32_t lkey, uint64_t addr,
			   uint32_t length, uint64_t *ret_at)
{
	for (int i = 0; i < TRIES; i++) {
		/* pairs with the store in end_change() */
		unsigned int before = atomic_load_explicit(&changes, memory_order_acquire);
		enum payload_why why = look_up_key(context, lkey, addr, length, ret_at);

		atomic_thread_fence(memory_order_acquire);
		if (!(before & 1) && before == atomic_load_explicit(&changes, memory_order_relaxed))
			return why;
	}
	return PAYLOAD_KEY;
}
