/*
 * The heap of the segment: extents of whole pages, first fit
 *
 * Allocated pages are zeroed: new ones because the file is sparse, old ones because their memory is
 * returned to the kernel when they are freed.
 *
 * Writing to a sparse file on a full file system raises SIGBUS, so memory for every page is
 * allocated before it is published. VERBATIM_SOFT_MEMORY limits the total, for untrusted programs.
 */
#include "shim/soft/fabric/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "shim/soft/fabric/memcheck.h"
#include "shim/soft/fabric/segment.h"

struct extent {
	uint64_t off;
	uint64_t size;
	struct extent *next; /* next extent by offset */
};

enum { PAGE = 4096 };

static struct extent *freed;
static uint64_t end; /* pages from here on were never used */
static unsigned int refused;

static uint64_t round_to_pages(uint64_t size)
{
	return (size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

static uint64_t reuse_extent(uint64_t size)
{
	struct extent **p, *e;
	uint64_t off;

	for (p = &freed; (e = *p); p = &e->next) {
		if (e->size < size)
			continue;
		off = e->off;
		e->off += size;
		e->size -= size;
		if (!e->size) {
			*p = e->next;
			free(e);
		}
		return off;
	}
	return 0;
}

/* The end of the heap; the environment is read once, at the first allocation. */
static uint64_t heap_limit(void)
{
	static uint64_t at;
	const char *bytes = at ? NULL : getenv("VERBATIM_SOFT_MEMORY");
	uint64_t n = bytes ? strtoull(bytes, NULL, 10) : 0,
		 begin = round_to_pages(sizeof(struct shm_seg));

	if (!at)
		at = bytes && n < SHM_SIZE - begin ? begin + n : SHM_SIZE;
	return at;
}

uint64_t heap_alloc_bare(uint64_t size)
{
	uint64_t off;

	size = round_to_pages(size);
	off = reuse_extent(size);
	if (off)
		return off;
	if (!end)
		end = round_to_pages(sizeof(struct shm_seg));
	if (size > heap_limit() || end > heap_limit() - size) {
		__atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
		return 0;
	}
	if (!segment_at(segment_own, end, size))
		return 0;
	off = end;
	end += size;
	return off;
}

unsigned int heap_count_refused(void)
{
	return __atomic_load_n(&refused, __ATOMIC_RELAXED);
}

/*
 * Merge an extent with the next one if they are adjacent, so that large blocks become available
 * again.
 */
static void merge_next(struct extent *e)
{
	struct extent *next = e->next;

	if (!next || e->off + e->size != next->off)
		return;
	e->size += next->size;
	e->next = next->next;
	free(next);
}

void heap_free(uint64_t off, uint64_t size)
{
	struct extent **p, *e, *prev = NULL;

	if (!off)
		return;
	size = round_to_pages(size);
	madvise((uint8_t *)segment_own + off, size, MADV_REMOVE);
	memcheck_mark_defined((uint8_t *)segment_own + off, size); /* memcheck: they become zeros */
	e = malloc(sizeof(*e));
	if (!e)
		return; /* the address space is lost, but its memory was freed */
	for (p = &freed; *p && (*p)->off < off; p = &(*p)->next)
		prev = *p;
	*e = (struct extent){ off, size, *p };
	*p = e;
	merge_next(e);
	if (prev)
		merge_next(prev);
}

void heap_forget(void)
{
	struct extent *e;

	while ((e = freed)) {
		freed = e->next;
		free(e);
	}
	end = 0;
}

void heap_forget_inherited(void)
{
	freed = NULL;
	end = 0;
}

uint64_t heap_alloc(uint64_t size)
{
	uint64_t off = heap_alloc_bare(size);

	if (off && segment_reserve((uint8_t *)segment_own + off, size) < 0) {
		heap_free(off, size);
		return 0;
	}
	return off;
}

void heap_free_at(void *at, uint64_t size)
{
	if (at)
		heap_free((uint8_t *)at - (uint8_t *)segment_own, size);
}
