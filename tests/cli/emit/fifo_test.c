/*
 * Queues of numbered elements
 */
#include "cli/emit/fifo.h"

#include "tests/test.h"

static void add_number(struct fifo *fifo, int number)
{
	int *place = fifo_add(fifo, sizeof(*place));

	assert_non_null(place);
	assert_int_equal(*place, 0);
	*place = number;
}

static int get_number(const struct fifo *fifo, uint64_t i)
{
	const int *place = fifo_get(fifo, sizeof(*place), i);

	return place ? *place : -1;
}

TEST(elements_have_their_numbers)
{
	struct fifo fifo = { 0 };

	for (int i = 0; i < 1000; i++)
		add_number(&fifo, i);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(get_number(&fifo, (uint64_t)i), i);
	assert_int_equal(get_number(&fifo, 1000), -1);
	assert_int_equal(fifo_count(&fifo), 1000);
	fifo_fini(&fifo);
}

TEST(what_was_dropped_is_gone)
{
	struct fifo fifo = { 0 };

	add_number(&fifo, 5);
	add_number(&fifo, 6);
	fifo_drop(&fifo, 1);
	assert_int_equal(get_number(&fifo, 0), -1);
	assert_int_equal(get_number(&fifo, 1), 6);
	fifo_drop(&fifo, 0);
	assert_int_equal(get_number(&fifo, 1), 6);
	fifo_drop(&fifo, 100);
	add_number(&fifo, 7);
	assert_int_equal(get_number(&fifo, 2), 7);
	assert_int_equal(fifo_count(&fifo), 3);
	fifo_fini(&fifo);
}

TEST(memory_is_of_what_was_not_dropped)
{
	struct fifo fifo = { 0 };

	for (int i = 0; i < 100000; i++) {
		add_number(&fifo, i);
		if (i >= 10)
			fifo_drop(&fifo, (uint64_t)i - 10);
		assert_int_equal(get_number(&fifo, (uint64_t)i), i);
	}
	assert_true(fifo.size <= 64);
	fifo_fini(&fifo);
}
