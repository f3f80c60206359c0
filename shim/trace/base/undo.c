/*
 * A hash table of replaced pointers: the address and the original value of each
 *
 * An address may occur several times, if an object was freed and another was created there: the
 * last value is valid. No entry is removed until all pointers are restored, so verbs that destroy
 * an object need not search for its pointers.
 */
#include "shim/trace/base/undo.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "shim/trace/base/peek.h"
#include "shim/trace/base/permit.h"
#include "shim/trace/base/self.h"

enum { FIRST = 1024 };

struct undo {
	void **slot;
	void *was;
};

static struct undo *table;
static size_t size, used;
static atomic_bool on;
static atomic_flag busy = ATOMIC_FLAG_INIT;

static void lock_table(void)
{
	while (atomic_flag_test_and_set(&busy))
		permit_sched_yield();
}

static void unlock_table(void)
{
	atomic_flag_clear(&busy);
}

void undo_begin(void)
{
	atomic_store(&on, true);
}

bool undo_is_on(void)
{
	return atomic_load_explicit(&on, memory_order_relaxed);
}

/* The entry of @slot, or the empty entry for it. */
static struct undo *find_entry(struct undo *in, size_t n, void **slot)
{
	size_t i = (size_t)((uintptr_t)slot / sizeof(void *) * 0x9e3779b97f4a7c15ull >> 20) % n;

	while (in[i].slot && in[i].slot != slot)
		i = (i + 1) % n;
	return &in[i];
}

static bool grow_table(void)
{
	size_t n = size ? 2 * size : FIRST;
	struct undo *bigger = mmap(NULL, n * sizeof(*bigger), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bigger == MAP_FAILED)
		return false;
	for (size_t i = 0; i < size; i++)
		if (table[i].slot)
			*find_entry(bigger, n, table[i].slot) = table[i];
	if (table)
		munmap(table, size * sizeof(*table));
	table = bigger;
	size = n;
	return true;
}

void undo_note(void **slot)
{
	struct undo *entry;

	if (!undo_is_on() || self_contains(*slot))
		return;
	lock_table();
	if (2 * used < size || grow_table()) {
		entry = find_entry(table, size, slot);
		used += !entry->slot;
		*entry = (struct undo){ slot, *slot };
	}
	unlock_table();
}

void *undo_find(void **slot)
{
	void *was = NULL;

	lock_table();
	if (size)
		was = find_entry(table, size, slot)->was;
	unlock_table();
	return was;
}

/* Restore a pointer. Its memory may have been freed and unmapped. */
static void restore_slot(const struct undo *entry)
{
	void *now;

	if (entry->slot && peek_memory(entry->slot, &now, sizeof(now)) && self_contains(now))
		atomic_compare_exchange_strong((_Atomic(void *) *)entry->slot, &now, entry->was);
}

void undo_all(void)
{
	lock_table();
	for (size_t i = 0; i < size; i++)
		restore_slot(&table[i]);
	if (table)
		munmap(table, size * sizeof(*table));
	table = NULL;
	size = used = 0;
	unlock_table();
}
