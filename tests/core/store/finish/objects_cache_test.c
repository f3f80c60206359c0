/*
 * The cache of core/store/finish/objects.c returns the same as an empty one, whatever shares its
 * cells: two devices whose queue pairs have the same numbers, in a process and its child.
 */
#include "core/store/finish/objects.h"

#include <stdlib.h>

#include "tests/test.h"

/* Most numbers of these completion queues have the same cell in the cache. */
enum { CONTEXT_A = 1, CONTEXT_B, CQ_A, PD_A, PD_B, CQ_B = CQ_A + 374 };
enum { NUMBERS = 2048, FORKED = 1000, OBJECTS = CQ_B + 3 * NUMBERS };

static struct object list[OBJECTS];
static struct lineage lineages[2] = { { 0, INT64_MAX, 0 }, { 1, FORKED, FORKED } };
static struct objects objects;
static struct objects_cache cache, empty;

static void add_object(enum object_kind kind, uint32_t parent, uint32_t number, int64_t time)
{
	list[objects.count] = (struct object){ .id = objects.count + 1,
					       .process = 1,
					       .kind = kind,
					       .number = number,
					       .handle = 0x1000 + number * 64u,
					       .parent = parent,
					       .created_at = time };
	objects.count++;
}

/* For each number a queue pair of A, one of B, and later another one of A. */
static int make_objects(void **state)
{
	(void)state;
	objects = (struct objects){ .list = list, .lineages = lineages, .nlineages = 2 };
	cache = empty;
	add_object(OBJECT_context, 0, 0, 1);
	add_object(OBJECT_context, 0, 1, 1);
	add_object(OBJECT_cq, CONTEXT_A, 2, 1);
	add_object(OBJECT_pd, CONTEXT_A, 3, 1);
	add_object(OBJECT_pd, CONTEXT_B, 4, 1);
	while (objects.count < CQ_B - 1)
		add_object(OBJECT_pd, CONTEXT_A, 5 + objects.count, 1);
	add_object(OBJECT_cq, CONTEXT_B, 5 + objects.count, 1);
	for (uint32_t n = 1; n <= NUMBERS; n++)
		add_object(OBJECT_qp, PD_A, n, 10);
	for (uint32_t n = 1; n <= NUMBERS; n++)
		add_object(OBJECT_qp, PD_B, n, 20);
	for (uint32_t n = 1; n <= NUMBERS; n++)
		add_object(OBJECT_qp, PD_A, n, 30);
	return objects_index(&objects);
}

static int free_objects(void **state)
{
	(void)state;
	free(objects.by_handle);
	free(objects.qps);
	return 0;
}

FIXTURE(make_objects, free_objects);

static void expect_qp(uint32_t process, uint32_t number, uint32_t cq, int64_t time, uint32_t id)
{
	assert_int_equal(objects_cached_qp(&cache, &objects, process, number, cq, time), id);
}

TEST(device_of_the_queue_decides)
{
	const uint32_t a = CQ_B + 7, b = a + NUMBERS, later = b + NUMBERS;

	expect_qp(1, 7, 0, 9, 0);
	expect_qp(1, 7, CQ_A, 10, a);
	expect_qp(1, 7, CQ_B, 19, a); /* the only queue pair with this number at that time */
	expect_qp(1, 7, CQ_B, 20, b);
	expect_qp(1, 7, CQ_A, 29, a);
	expect_qp(1, 7, CQ_A, 30, later);
	expect_qp(1, 7, CQ_B, 30, b);
	expect_qp(1, 7, 0, 30, later);
	expect_qp(2, 7, CQ_B, FORKED, b);
	expect_qp(1, NUMBERS + 1, CQ_A, 30, 0);
	expect_qp(1, 0, CQ_A, 30, 0);
}

/* Queue pairs in one cell of the cache are looked up one after the other. */
TEST(cached_queue_pairs_are_those_that_are_found)
{
	static const int64_t times[] = { 9, 10, 15, 20, 29, 30, 25, 12, FORKED };
	static struct objects_cache fresh;

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		for (uint32_t n = 1; n <= NUMBERS; n++)
			for (uint32_t k = 0; k < 4; k++) {
				uint32_t cq = k == 0 ? 0 : k == 2 ? CQ_B : CQ_A;
				uint32_t process = times[i] == FORKED ? 1 + k % 2 : 1, id;

				memset(&fresh, 0, sizeof(fresh));
				id = objects_cached_qp(&fresh, &objects, process, n, cq, times[i]);
				expect_qp(process, n, cq, times[i], id);
			}
}

static bool is_cached(uint32_t number, uint32_t cq)
{
	return objects_cached(&cache, 1, OBJECTS_QP_NUMBER, number, cq, 30);
}

TEST(two_objects_that_alternate_stay_cached)
{
	for (uint32_t a = 1; a <= 128; a++)
		for (uint32_t b = 1; b <= 128; b++) {
			cache = empty;
			objects_cache_qp(&cache, &objects, 1, a, CQ_A, 30);
			objects_cache_qp(&cache, &objects, 1, b, CQ_B, 30);
			assert_true(is_cached(a, CQ_A));
			assert_true(is_cached(b, CQ_B));
		}
}

TEST(cached_objects_are_those_that_are_found)
{
	static const int64_t times[] = { 9, 10, 19, 20, 29, 30, 25, 12, FORKED };

	for (uint32_t n = 0; n <= NUMBERS; n++)
		for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
			uint32_t process = times[i] == FORKED ? 1 + n % 2 : 1;
			uint64_t handle = 0x1000 + n * 64u;
			const struct object *o =
				objects_at(&objects, process, OBJECT_qp, handle, times[i]);

			assert_int_equal(objects_cached_at(&cache, &objects, process, OBJECT_qp,
							   handle, times[i]),
					 o ? o->id : 0);
		}
}
