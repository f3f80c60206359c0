/*
 * Arrays that grow
 */
#include <stdlib.h>

#include "core/base/vec.h"
#include "tests/test.h"

TEST(pushed_elements_are_zeroed_and_stay)
{
	struct pair {
		int a, b;
	} *pairs = NULL;
	size_t n = 0;

	for (int i = 0; i < 1000; i++) {
		struct pair *pair = vec_push(pairs, n);

		assert_non_null(pair);
		assert_int_equal(pair->a | pair->b, 0);
		*pair = (struct pair){ i, -i };
	}
	assert_int_equal(n, 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(pairs[i].a, i);
	free(pairs);
}

TEST(an_element_at_an_index_is_there)
{
	int *list = NULL, *at;
	size_t n = 0;

	at = vec_at(list, n, 5);
	assert_non_null(at);
	assert_int_equal(n, 6);
	assert_ptr_equal(at, &list[5]);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(list[i], 0);
	*at = 7;
	assert_ptr_equal(vec_at(list, n, 2), &list[2]);
	assert_int_equal(n, 6);
	assert_int_equal(*vec_at(list, n, 5), 7);
	assert_ptr_equal(vec_at(list, n, 6), &list[6]);
	assert_int_equal(n, 7);
	free(list);
}

TEST(reserve_doubles)
{
	char *bytes = NULL;
	size_t size = 0, before;

	assert_int_equal(vec_reserve(bytes, size, 100), 0);
	assert_true(size >= 100);
	before = size;
	assert_int_equal(vec_reserve(bytes, size, 50), 0);
	assert_int_equal(size, before);
	assert_int_equal(vec_reserve(bytes, size, before + 1), 0);
	assert_int_equal(size, before * 2);
	free(bytes);
}

TEST(too_much_is_refused)
{
	uint64_t *numbers = NULL;
	size_t size = 0;

	assert_true(vec_reserve(numbers, size, SIZE_MAX) < 0);
	assert_true(vec_reserve(numbers, size, SIZE_MAX / 8 + 1) < 0);
	assert_null(numbers);
	assert_int_equal(size, 0);
}

static bool is_less(const void *element, const void *key)
{
	return *(const int *)element < *(const int *)key;
}

TEST(count_before_finds_the_first_that_is_not)
{
	static const int sorted[] = { 1, 3, 3, 7 };
	static const struct {
		int key;
		size_t before;
	} cases[] = { { 0, 0 }, { 1, 0 }, { 2, 1 }, { 3, 1 }, { 4, 3 }, { 7, 3 }, { 8, 4 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(
			vec_count_before(sorted, 4, sizeof(*sorted), is_less, &cases[i].key),
			cases[i].before);
	assert_int_equal(vec_count_before(NULL, 0, sizeof(*sorted), is_less, &cases[0].key), 0);
}
