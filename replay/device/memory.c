/*
 * Memory of a recorded process: mapping its addresses to those of the replay
 *
 *	rec.    |==A==|   |====B====|                |=C=|
 *	              |=====B2====|
 *	replay  |==A==|====B====B2|=C=|     one mapping, whole pages
 *
 * Not here: the ranges of memory regions (replica.h).
 */
#include "replay/device/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/wire/log.h"

enum { PAGE = 4096 };

#define LENGTH_MAX   (1ull << 44) /* longer: an implicit region, the whole address space */
#define SCRATCH_SIZE (1ull << 30)

struct range {
	uint64_t start, end; /* recorded addresses, whole pages */
	uint64_t offset;     /* offset in the replay's memory */
};

struct scratch {
	struct scratch *next;
	void *at;
	size_t size;
};

struct memory {
	struct range *ranges;
	size_t nranges, room;
	char *base;
	size_t size;
	struct scratch *scratch;
	void *hole;
};

int memory_new(struct memory **ret_memory)
{
	struct memory *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	*ret_memory = m;
	return 0;
}

void memory_free(struct memory *m)
{
	if (!m)
		return;
	while (m->scratch) {
		struct scratch *s = m->scratch;

		m->scratch = s->next;
		munmap(s->at, s->size);
		free(s);
	}
	if (m->base)
		munmap(m->base, m->size);
	if (m->hole)
		munmap(m->hole, PAGE);
	free(m->ranges);
	free(m);
}

static int compare_range_starts(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Sort, merge adjacent ranges, and give each its place. Returns the total size. */
static uint64_t place_ranges(struct memory *m)
{
	uint64_t offset = 0;
	size_t n = 0;

	if (m->nranges)
		qsort(m->ranges, m->nranges, sizeof(*m->ranges), compare_range_starts);
	for (size_t i = 0; i < m->nranges; i++) {
		struct range r = m->ranges[i];

		if (n && r.start <= m->ranges[n - 1].end) {
			if (r.end > m->ranges[n - 1].end)
				m->ranges[n - 1].end = r.end;
		} else {
			m->ranges[n++] = r;
		}
	}
	m->nranges = n;
	for (size_t i = 0; i < n; i++) {
		m->ranges[i].offset = offset;
		offset += m->ranges[i].end - m->ranges[i].start;
	}
	return offset;
}

/* Merge ranges before extending the array: the same memory is often used again. */
static int make_room(struct memory *m)
{
	size_t room = m->room ? m->room * 2 : 16;
	struct range *more;

	if (m->nranges < m->room)
		return 0;
	place_ranges(m);
	if (m->nranges < m->room / 2)
		return 0;
	more = reallocarray(m->ranges, room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	m->ranges = more;
	m->room = room;
	return 0;
}

int memory_add(struct memory *m, uint64_t addr, uint64_t length)
{
	uint64_t end = addr + length;

	if (!length || length > LENGTH_MAX || end < addr || end > UINT64_MAX - PAGE)
		return 0;
	if (make_room(m))
		return -ENOMEM;
	m->ranges[m->nranges++] = (struct range){ .start = addr & ~(PAGE - 1ull),
						  .end = (end + PAGE - 1) & ~(PAGE - 1ull) };
	return 0;
}

bool memory_is_all(uint64_t addr, uint64_t length)
{
	return !addr && length == SIZE_MAX;
}

static void *map_pages(uint64_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

uint64_t memory_size(struct memory *m)
{
	return place_ranges(m);
}

int memory_map(struct memory *m)
{
	uint64_t size = place_ranges(m);

	if (!size)
		return 0;
	m->base = map_pages(size);
	if (!m->base)
		return log_err(-errno, "map %llu bytes for the recorded memory",
			       (unsigned long long)size);
	m->size = size;
	return 0;
}

/* The range that contains @addr, or NULL. */
static const struct range *find_range(const struct memory *m, uint64_t addr)
{
	size_t low = 0, high = m->nranges;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->ranges[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!m->base || low == m->nranges || addr < m->ranges[low].start)
		return NULL;
	return &m->ranges[low];
}

void *memory_span(const struct memory *m, uint64_t addr, uint64_t length)
{
	const struct range *range = find_range(m, addr);

	if (!range || length > range->end - addr)
		return NULL;
	return m->base + range->offset + (addr - range->start);
}

void *memory_at(const struct memory *m, uint64_t addr)
{
	return memory_span(m, addr, 0);
}

bool memory_holds(const struct memory *m, const void *at, uint64_t length)
{
	uint64_t offset = (uint64_t)(uintptr_t)at - (uint64_t)(uintptr_t)m->base;

	return m->base && offset <= m->size && length <= m->size - offset;
}

void *memory_scratch(struct memory *m, uint64_t length)
{
	struct scratch *s = m->scratch;

	if (s && s->size >= length)
		return s->at;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->size = length > SCRATCH_SIZE ? length : SCRATCH_SIZE;
	s->at = map_pages(s->size);
	if (!s->at) {
		free(s);
		return NULL;
	}
	s->next = m->scratch;
	m->scratch = s;
	return s->at;
}

int memory_share(struct memory *m, int (*map)(const void *at, size_t size, int protection))
{
	int err = 0;

	if (!memory_scratch(m, 1) || !memory_guard_page(m))
		return log_err(-ENOMEM, "map memory for replayed requests");
	if (m->base)
		err = map(m->base, m->size, PROT_READ | PROT_WRITE);
	err = err ?: map(m->scratch->at, m->scratch->size, PROT_READ | PROT_WRITE);
	return err ?: map(m->hole, PAGE, PROT_NONE);
}

void *memory_guard_page(struct memory *m)
{
	if (!m->hole) {
		void *at = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		m->hole = at == MAP_FAILED ? NULL : at;
	}
	return m->hole;
}
