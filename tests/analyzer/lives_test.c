/* analyzer/model/lives.c through its header. */
#include <stdlib.h>

#include "analyzer/model/lives.h"
#include "tests/test.h"

static struct life *add_life(struct lives *lives, uint32_t process, enum object_kind kind,
			     uint64_t handle)
{
	struct life *life = lives_new(lives);

	assert_non_null(life);
	life->process = process;
	life->kind = kind;
	life->handle = handle;
	life->created.time = (int64_t)handle;
	lives_add(lives, life);
	return life;
}

TEST(process_kind_and_address_tell_apart)
{
	struct lives lives;
	struct life *qp;

	assert_int_equal(lives_init(&lives), 0);
	qp = add_life(&lives, 1, OBJECT_qp, 0x1000);
	assert_ptr_equal(lives_find(&lives, 1, OBJECT_qp, 0x1000), qp);
	assert_null(lives_find(&lives, 2, OBJECT_qp, 0x1000));
	assert_null(lives_find(&lives, 1, OBJECT_cq, 0x1000));
	assert_null(lives_find(&lives, 1, OBJECT_qp, 0x1010));
	lives_fini(&lives);
}

TEST(the_table_grows)
{
	struct lives lives;

	assert_int_equal(lives_init(&lives), 0);
	for (uint64_t i = 1; i <= 10000; i++)
		add_life(&lives, 1, OBJECT_mr, i * 64);
	assert_int_equal(lives.live, 10000);
	for (uint64_t i = 1; i <= 10000; i++)
		assert_non_null(lives_find(&lives, 1, OBJECT_mr, i * 64));
	lives_fini(&lives);
}

TEST(the_dead_are_remembered_for_a_while)
{
	struct lives lives;

	assert_int_equal(lives_init(&lives), 0);
	for (uint64_t i = 1; i <= LIVES_DEAD + 10; i++)
		lives_mark_dead(&lives, add_life(&lives, 1, OBJECT_mr, i * 64), LIFE_GONE);
	assert_int_equal(lives.live, 0);
	assert_int_equal(lives.dead, LIVES_DEAD);
	assert_null(lives_find(&lives, 1, OBJECT_mr, 10 * 64));
	assert_non_null(lives_find(&lives, 1, OBJECT_mr, 11 * 64));
	lives_fini(&lives);
}

TEST(a_new_one_takes_the_place_of_the_dead)
{
	struct lives lives;
	struct life *life;

	assert_int_equal(lives_init(&lives), 0);
	lives_mark_dead(&lives, add_life(&lives, 1, OBJECT_pd, 64), LIFE_GONE);
	life = add_life(&lives, 1, OBJECT_pd, 64);
	assert_ptr_equal(lives_find(&lives, 1, OBJECT_pd, 64), life);
	assert_int_equal(lives.count, 1);
	assert_int_equal(lives.dead, 0);
	lives_fini(&lives);
}

TEST(links_end_with_either)
{
	struct life *pd, *cq, *qp;
	struct lives lives;

	assert_int_equal(lives_init(&lives), 0);
	pd = add_life(&lives, 1, OBJECT_pd, 64);
	cq = add_life(&lives, 1, OBJECT_cq, 128);
	qp = add_life(&lives, 1, OBJECT_qp, 192);
	assert_int_equal(life_link(pd, qp), 0);
	assert_int_equal(life_link(cq, qp), 0);
	assert_int_equal(life_link(cq, qp), 0); /* linking twice counts once */
	assert_null(cq->children->next_child);
	lives_mark_dead(&lives, cq, LIFE_GONE);
	assert_ptr_equal(qp->parents->parent, pd);
	assert_null(qp->parents->next_parent);
	lives_mark_dead(&lives, qp, LIFE_GONE);
	assert_null(pd->children);
	lives_fini(&lives);
}

TEST(those_of_a_process_come_in_order)
{
	struct life **found;
	struct lives lives;

	assert_int_equal(lives_init(&lives), 0);
	for (uint64_t i = 20; i > 0; i--)
		add_life(&lives, i % 2 ? 1 : 2, OBJECT_mr, i * 64);
	assert_int_equal(lives_list_process(&lives, 1, &found), 10);
	for (int i = 1; i < 10; i++)
		assert_true(found[i - 1]->created.time < found[i]->created.time);
	free(found);
	lives_fini(&lives);
}

static size_t longest_chain(const struct lives *lives)
{
	size_t longest = 0;

	for (size_t i = 0; i < lives->nbuckets; i++) {
		size_t n = 0;

		for (const struct life *life = lives->buckets[i]; life; life = life->next)
			n++;
		longest = n > longest ? n : longest;
	}
	return longest;
}

/* As after forks: each process has objects at the same addresses. */
TEST(processes_with_the_same_addresses_are_kept_apart)
{
	enum { PROCESSES = 300, OBJECTS = 100 };
	struct lives lives;

	assert_int_equal(lives_init(&lives), 0);
	for (uint32_t p = 1; p <= PROCESSES; p++)
		for (uint64_t i = 1; i <= OBJECTS; i++)
			add_life(&lives, p, OBJECT_pd, i * 16);
	assert_in_range(longest_chain(&lives), 1, 20);
	for (uint32_t p = 1; p <= PROCESSES; p++) {
		struct life *life = NULL, **found;
		unsigned int n = 0;

		lives_drop(&lives, lives_find(&lives, p, OBJECT_pd, 16 * (p % OBJECTS + 1)));
		while ((life = lives_next(&lives, p, life)))
			n += life->process == p;
		assert_int_equal(n, OBJECTS - 1);
		assert_int_equal(lives_list_process(&lives, p, &found), OBJECTS - 1);
		for (unsigned int i = 1; i < n; i++)
			assert_true(found[i - 1]->created.time < found[i]->created.time);
		free(found);
	}
	assert_null(lives_next(&lives, PROCESSES + 1, NULL));
	lives_fini(&lives);
}
