/*
 * Registered memory is given back in every way that `record --memory` watches, and unregistered
 * memory next to it. No request names it.
 */
#include <sys/mman.h>

#include "tests/apps/app.h"

enum { PAGE = 4096, PAGES = 4 };

static struct ibv_pd *pd;

static char *map_pages(void)
{
	void *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	NEED(memory != MAP_FAILED);
	return memory;
}

static struct ibv_mr *register_memory(void *memory, size_t length)
{
	return NEED(ibv_reg_mr(pd, memory, length, IBV_ACCESS_LOCAL_WRITE));
}

static void give_mappings(void)
{
	char *unmapped = map_pages(), *covered = map_pages(), *moved = map_pages();
	char *other = map_pages();
	struct ibv_mr *mrs[] = { register_memory(unmapped, PAGES * PAGE),
				 register_memory(covered + PAGE, PAGE),
				 register_memory(moved, PAGE) };

	MUST(munmap(other, PAGES * PAGE));
	MUST(madvise(covered, PAGE, MADV_DONTNEED)); /* not the registered page */
	MUST(madvise(covered, 2 * PAGE, MADV_DONTNEED));
	NEED(mmap(covered, PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		  0) == covered);
	NEED(mremap(moved, PAGES * PAGE, 1024 * PAGE, MREMAP_MAYMOVE) != MAP_FAILED);
	MUST(munmap(unmapped, PAGES * PAGE));
	for (int i = 0; i < 3; i++)
		MUST(ibv_dereg_mr(mrs[i]));
	MUST(munmap(covered, PAGES * PAGE));
}

static void give_blocks(void)
{
	char *block = NEED(malloc(2 * PAGE)), *grown = NEED(malloc(100)), *heap = NEED(malloc(400));
	struct ibv_mr *mrs[] = { register_memory(block + 64, PAGE), register_memory(grown, 100),
				 register_memory(heap - 8, 424) };

	grown = NEED(realloc(grown, 1 << 20));
	free(grown);
	free(block);
	free(heap); /* registered with its neighbours: not as a block */
	for (int i = 0; i < 3; i++)
		MUST(ibv_dereg_mr(mrs[i]));
}

int main(void)
{
	struct ibv_context *context = open_first_device();

	pd = NEED(ibv_alloc_pd(context));
	give_mappings();
	give_blocks();
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
