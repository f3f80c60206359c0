/*
 * Registered memory by address
 *
 *	start | end | most: largest end up to here | region	sorted by start
 *
 * With the largest end, one search shows whether any earlier range reaches an address, whatever
 * ranges overlap. A reader compares the count of changes before and after reading, and reads again
 * if they differ. When the array is extended, the old one is not freed.
 */
#include "shim/trace/objects/ranges.h"

#include <stdlib.h>

#include "shim/trace/base/permit.h"
#include "shim/trace/ring/recording.h"

enum { FEW = 256, TRIES = 100, SIZES = 16 };

struct range {
	_Atomic uint64_t start, end, most;
	const struct ibv_mr *mr;
};

atomic_bool ranges_on;

static _Atomic(struct range *) ranges;
static _Atomic size_t count;
static size_t room;
static struct range *outgrown[SIZES]; /* old arrays, which readers may still be using */
static unsigned int noutgrown;
static _Atomic unsigned int changes; /* number of changes; odd: a change is in progress */

static uint64_t read_word(const _Atomic uint64_t *at)
{
	return atomic_load_explicit(at, memory_order_relaxed);
}

static void set_range(struct range *to, uint64_t start, uint64_t end, const struct ibv_mr *mr)
{
	atomic_store_explicit(&to->start, start, memory_order_relaxed);
	atomic_store_explicit(&to->end, end, memory_order_relaxed);
	to->mr = mr;
}

/* How many of the first @n ranges begin before @addr? */
static size_t count_before(const struct range *all, size_t n, uint64_t addr)
{
	size_t from = 0;

	while (from < n) {
		size_t middle = from + (n - from) / 2;

		if (read_word(&all[middle].start) < addr)
			from = middle + 1;
		else
			n = middle;
	}
	return from;
}

static void begin_change(void)
{
	recording_lock();
	atomic_fetch_add_explicit(&changes, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static void end_change(void)
{
	/* pairs with the load in test_ranges() */
	atomic_fetch_add_explicit(&changes, 1, memory_order_release);
	recording_unlock();
}

static bool make_room(size_t n)
{
	struct range *old = atomic_load_explicit(&ranges, memory_order_relaxed), *more;

	if (n < room)
		return true;
	more = noutgrown == SIZES ? NULL : permit_alloc(room ? room * 4 : FEW, sizeof(*more));
	if (!more)
		return false;
	for (size_t i = 0; i < n; i++) {
		set_range(&more[i], read_word(&old[i].start), read_word(&old[i].end), old[i].mr);
		more[i].most = read_word(&old[i].most);
	}
	room = room ? room * 4 : FEW;
	outgrown[noutgrown++] = old;
	atomic_store_explicit(&ranges, more, memory_order_release);
	return true;
}

/* Update `most` from @from on. */
static void update_highest_end(struct range *all, size_t n, size_t from)
{
	uint64_t most = from ? read_word(&all[from - 1].most) : 0;

	for (size_t i = from; i < n; i++) {
		if (read_word(&all[i].end) > most)
			most = read_word(&all[i].end);
		atomic_store_explicit(&all[i].most, most, memory_order_relaxed);
	}
}

static void move_range(struct range *to, const struct range *from)
{
	set_range(to, read_word(&from->start), read_word(&from->end), from->mr);
}

static void drop_region(const struct ibv_mr *mr)
{
	struct range *all = atomic_load_explicit(&ranges, memory_order_relaxed);
	size_t n = atomic_load_explicit(&count, memory_order_relaxed), at = 0;

	while (at < n && all[at].mr != mr)
		at++;
	if (at == n)
		return;
	for (size_t i = at; i + 1 < n; i++)
		move_range(&all[i], &all[i + 1]);
	atomic_store_explicit(&count, n - 1, memory_order_relaxed);
	update_highest_end(all, n - 1, at);
}

static void insert_range(const struct ibv_mr *mr, uint64_t start, uint64_t end)
{
	size_t n = atomic_load_explicit(&count, memory_order_relaxed), at;
	struct range *all;

	if (!make_room(n))
		return; /* out of memory: releases of this region will not be recorded */
	all = atomic_load_explicit(&ranges, memory_order_relaxed);
	at = count_before(all, n, start);
	for (size_t i = n; i > at; i--)
		move_range(&all[i], &all[i - 1]);
	set_range(&all[at], start, end, mr);
	atomic_store_explicit(&count, n + 1, memory_order_relaxed);
	update_highest_end(all, n + 1, at);
}

void ranges_add(const struct ibv_mr *mr, const void *addr, uint64_t length)
{
	uint64_t start = (uint64_t)(uintptr_t)addr;

	begin_change();
	drop_region(mr);
	if (length && start + length > start)
		insert_range(mr, start, start + length);
	end_change();
}

void ranges_remove(const struct ibv_mr *mr)
{
	begin_change();
	drop_region(mr);
	end_change();
}

void ranges_begin(bool on, bool child)
{
	if (child) {
		atomic_store_explicit(&count, 0, memory_order_relaxed);
		atomic_store_explicit(&changes, 0, memory_order_relaxed);
	}
	atomic_store_explicit(&ranges_on, on, memory_order_relaxed);
}

static bool range_touches(const struct range *all, size_t n, uint64_t from, uint64_t to)
{
	size_t before = count_before(all, n, to);

	return before && read_word(&all[before - 1].most) > from;
}

static bool lies_within(const struct range *all, size_t n, uint64_t from, uint64_t to)
{
	for (size_t i = count_before(all, n, from); i < n && read_word(&all[i].start) < to; i++)
		if (read_word(&all[i].end) <= to)
			return true;
	return false;
}

static bool test_ranges(bool (*question)(const struct range *, size_t, uint64_t, uint64_t),
			uint64_t addr, uint64_t length)
{
	if (!length || addr + length < addr)
		return false;
	for (int i = 0; i < TRIES; i++) {
		/* pairs with the store in end_change() */
		unsigned int before = atomic_load_explicit(&changes, memory_order_acquire);
		size_t n = atomic_load_explicit(&count, memory_order_relaxed);
		const struct range *all = atomic_load_explicit(&ranges, memory_order_acquire);
		bool answer;

		if (before & 1)
			continue;
		answer = all && question(all, n, addr, addr + length);
		atomic_thread_fence(memory_order_acquire);
		if (before == atomic_load_explicit(&changes, memory_order_relaxed))
			return answer;
	}
	return false;
}

bool ranges_overlap(uint64_t addr, uint64_t length)
{
	return test_ranges(range_touches, addr, length);
}

bool ranges_within(uint64_t addr, uint64_t length)
{
	return test_ranges(lies_within, addr, length);
}

/* Huge pages: an entry is free while its end is 0. */
static struct {
	_Atomic uint64_t start, end;
} mappings[RANGES_HUGE];
static _Atomic unsigned int nmappings; /* number of entries that were ever used */

static void forget_mappings(uint64_t from, uint64_t to)
{
	unsigned int n = atomic_load(&nmappings);

	for (unsigned int i = 0; i < n && i < RANGES_HUGE; i++)
		if (atomic_load(&mappings[i].start) < to && atomic_load(&mappings[i].end) > from)
			atomic_store(&mappings[i].end, 0);
}

void ranges_map(uint64_t addr, uint64_t length, bool huge)
{
	unsigned int at;

	forget_mappings(addr, addr + length);
	if (!huge)
		return;
	at = atomic_fetch_add(&nmappings, 1);
	if (at >= RANGES_HUGE) {
		atomic_store(&nmappings, RANGES_HUGE);
		return;
	}
	atomic_store(&mappings[at].start, addr);
	atomic_store(&mappings[at].end, addr + length);
}

bool ranges_are_huge(uint64_t addr, uint64_t length)
{
	unsigned int n = atomic_load(&nmappings);

	for (unsigned int i = 0; i < n && i < RANGES_HUGE; i++)
		if (addr >= atomic_load(&mappings[i].start) &&
		    addr + length <= atomic_load(&mappings[i].end))
			return true;
	return false;
}
