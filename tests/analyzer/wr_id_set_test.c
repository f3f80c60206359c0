/* analyzer/model/wr_id_set.c: numbers that occur once, and again. */
#include "analyzer/model/wr_id_set.h"
#include "tests/test.h"

enum { ROOM = 8, LONG = 2000 };

/* @n numbers come and go, one at a time. */
static void pass_many(struct wr_id_set *u, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		assert_int_equal(wr_id_set_add(u, i, 0, ROOM), WR_ID_NEW);
		wr_id_set_remove(u, i);
	}
}

TEST(twice_after_a_long_time)
{
	struct wr_id_set u = { 0 };

	pass_many(&u, LONG);
	assert_int_equal(wr_id_set_add(&u, 7, 0, ROOM), WR_ID_NEW);
	assert_int_equal(wr_id_set_add(&u, 7, 0, ROOM), WR_ID_TWICE);
	assert_int_equal(wr_id_set_add(&u, 7, 0, ROOM), WR_ID_OFF);
	wr_id_set_remove(&u, 7);
	wr_id_set_fini(&u);
}

TEST(twice_at_the_beginning_is_how_the_program_is)
{
	struct wr_id_set u = { 0 };

	pass_many(&u, ROOM);
	wr_id_set_add(&u, 7, 0, ROOM);
	assert_int_equal(wr_id_set_add(&u, 7, 0, ROOM), WR_ID_ONCE);
	assert_int_equal(wr_id_set_add(&u, 7, 0, ROOM), WR_ID_OFF);
	assert_int_equal(wr_id_set_add(&u, 8, 0, ROOM), WR_ID_OFF);
	wr_id_set_fini(&u);
}

/* Each is alone while it is outstanding, and the next one of its kind has the same number. */
TEST(numbers_that_stand_for_a_kind)
{
	struct wr_id_set u = { 0 };

	for (uint64_t i = 0; i < LONG; i++) {
		uint64_t kind = 64 * (i / 100 % 2), number = kind + 1;

		assert_int_equal(wr_id_set_add(&u, number, kind, ROOM), WR_ID_NEW);
		wr_id_set_remove(&u, number);
	}
	wr_id_set_add(&u, 1, 0, ROOM);
	assert_int_equal(wr_id_set_add(&u, 1, 0, ROOM), WR_ID_ONCE);
	wr_id_set_fini(&u);
}

/* The numbers of the other kind are all different. */
TEST(numbers_of_one_kind_show_nothing_of_another)
{
	struct wr_id_set u = { 0 };

	pass_many(&u, LONG);
	wr_id_set_add(&u, 1, 64, ROOM);
	assert_int_equal(wr_id_set_add(&u, 1, 64, ROOM), WR_ID_ONCE);
	wr_id_set_fini(&u);
}

TEST(a_deep_queue_takes_longer_to_know)
{
	struct wr_id_set u = { 0 };

	pass_many(&u, LONG);
	wr_id_set_add(&u, 7, 0, LONG);
	assert_int_equal(wr_id_set_add(&u, 7, 0, LONG), WR_ID_ONCE);
	wr_id_set_fini(&u);
}

/* One at the beginning is not an exception, and neither is another, however long after it. */
TEST(twice_again_is_how_the_program_is)
{
	struct wr_id_set u = { 0 };

	wr_id_set_add(&u, 7, 0, ROOM);
	assert_int_equal(wr_id_set_add(&u, 7, 0, ROOM), WR_ID_ONCE);
	wr_id_set_remove(&u, 7);
	wr_id_set_remove(&u, 7);
	pass_many(&u, LONG);
	wr_id_set_add(&u, 7, 0, ROOM);
	assert_int_equal(wr_id_set_add(&u, 7, 0, ROOM), WR_ID_OFF);
	assert_true(u.off);
	wr_id_set_fini(&u);
}

/* Compared with a table of the present numbers, which collide in the hash table. */
TEST(what_was_removed_is_gone_and_nothing_else)
{
	enum { NUMBERS = 300 };
	bool there[NUMBERS] = { 0 };
	struct wr_id_set u = { 0 };
	unsigned int dice = 1;

	for (int i = 0; i < 100000; i++) {
		unsigned int n = (dice = dice * 1103515245 + 12345) >> 8;
		uint64_t number = n % NUMBERS;

		if (there[number])
			wr_id_set_remove(&u, number << 20);
		else
			assert_int_equal(wr_id_set_add(&u, number << 20, 0, ROOM), WR_ID_NEW);
		there[number] = !there[number];
	}
	for (uint64_t i = 0; i < NUMBERS; i++)
		if (there[i]) {
			assert_int_equal(wr_id_set_add(&u, i << 20, 0, ROOM), WR_ID_TWICE);
			u.off = false;
			break;
		}
	wr_id_set_fini(&u);
}

TEST(cleared_is_empty)
{
	struct wr_id_set u = { 0 };

	pass_many(&u, LONG);
	wr_id_set_add(&u, 7, 0, ROOM);
	wr_id_set_clear(&u);
	assert_int_equal(wr_id_set_add(&u, 7, 0, ROOM), WR_ID_NEW);
	wr_id_set_fini(&u);
}
