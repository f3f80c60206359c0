/*
 * The heap of the segment, and its limit. Each test has a process of its own, since a heap belongs
 * to one.
 */
#include "shim/soft/fabric/heap.h"

#include <stdlib.h>
#include <sys/wait.h>

#include "shim/soft/fabric/segment.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

enum { PAGE = 4096 };

#define HOLDS(cond)                                                           \
	do {                                                                  \
		if (!(cond)) {                                                \
			dprintf(2, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			_exit(1);                                             \
		}                                                             \
	} while (0)

static void in_child(void (*body)(void))
{
	struct ibv_context *context;
	pid_t pid = fork();
	int status;

	if (!pid) {
		context = open_context();
		body();
		HOLDS(ibv_close_device(context) == 0);
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

GROUP(fabric_setup, fabric_teardown);

static uint8_t *place_of(uint64_t off)
{
	return (uint8_t *)segment_own + off;
}

static void use_extents(void)
{
	uint64_t a = heap_alloc(PAGE), b = heap_alloc(2 * PAGE - 1), c = heap_alloc(1), d;

	HOLDS(a >= sizeof(struct shm_seg) && a % PAGE == 0);
	HOLDS(b == a + PAGE && c == b + 2 * PAGE);
	memset(place_of(b), 0xaa, 2 * PAGE);
	heap_free(b, 2 * PAGE - 1);
	HOLDS(heap_alloc(PAGE) == b);
	HOLDS(place_of(b)[0] == 0 && place_of(b)[PAGE - 1] == 0);
	HOLDS(heap_alloc(PAGE) == b + PAGE);
	HOLDS(heap_alloc(PAGE) == c + PAGE);
	heap_free(a, PAGE);
	heap_free(b + PAGE, PAGE);
	d = heap_alloc(2 * PAGE);
	HOLDS(d == c + 2 * PAGE); /* the two are not neighbours, */
	heap_free(b, PAGE);
	HOLDS(heap_alloc(3 * PAGE) == a); /* both are merged with the memory between them */
	heap_free(a, 3 * PAGE);
	heap_free(c, PAGE);
	HOLDS(heap_alloc(4 * PAGE) == a);
	heap_free(0, PAGE);
	HOLDS(heap_alloc(PAGE) == d + 2 * PAGE);
	HOLDS(heap_count_refused() == 0);
	heap_free(a, 4 * PAGE);
	heap_free(c + PAGE, PAGE);
	heap_free(d, 3 * PAGE);
}

TEST(extents_are_used_again_and_merged)
{
	in_child(use_extents);
}

static void forget_extents(void)
{
	uint64_t a = heap_alloc(PAGE), b = heap_alloc(PAGE), first;

	heap_free(a, PAGE);
	heap_free(b, PAGE);
	heap_forget_inherited();
	first = heap_alloc_bare(PAGE);
	HOLDS(first && first <= a && first - PAGE < sizeof(struct shm_seg));
	HOLDS(heap_alloc_bare(PAGE) == first + PAGE);
	heap_free(first, PAGE);
	heap_forget();
	HOLDS(heap_alloc_bare(2 * PAGE) == first);
	_exit(0); /* the objects of the device had this memory */
}

TEST(a_child_begins_anew)
{
	in_child(forget_extents);
}

static void exceed_limit(void)
{
	uint64_t last = 0, off, n = 0;

	while ((off = heap_alloc(PAGE))) {
		HOLDS(!last || off == last + PAGE);
		last = off;
		n++;
	}
	HOLDS(n > 0 && n <= 64 && heap_count_refused() == 1);
	HOLDS(last + PAGE <= sizeof(struct shm_seg) + PAGE + 64 * PAGE);
	HOLDS(last + 2 * PAGE > sizeof(struct shm_seg) + 64 * PAGE);
	HOLDS(!heap_alloc(1) && heap_count_refused() == 2);
	heap_free(last, PAGE);
	HOLDS(heap_alloc(2 * PAGE) == 0 && heap_count_refused() == 3);
	HOLDS(heap_alloc(PAGE) == last && heap_count_refused() == 3);
}

TEST(the_limit_is_kept)
{
	setenv("VERBATIM_SOFT_MEMORY", "262144", 1);
	in_child(exceed_limit);
	unsetenv("VERBATIM_SOFT_MEMORY");
}
