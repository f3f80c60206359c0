#pragma once
/*
 * Tests that register themselves, on top of cmocka
 *
 *	TEST(close_accepts_null)
 *	{
 *		trace_close(NULL);
 *	}
 *
 * They run in the order in which they are written. main() is here:
 *
 *	PROGRAM [--list] [WORD]...	those tests, or their names, that have one of the words
 *
 *	FIXTURE(setup, teardown);		run before and after each TEST() that follows
 *	TEST_WITH(name, setup, teardown)	a test with another fixture; NULL: none
 *	TEST_LAST(name)				a test that runs after all others
 *	TEST_ROWS(rows, function);		a test for each row of an array, named by its name
 *	GROUP(setup, teardown);			run before the first and after the last test
 *
 * All have the parameter `void **state`, as cmocka has it: what the setup put there, or the row. A
 * program that has more to do in main() defines TEST_MAIN, and calls test_run() there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { TEST_MOST = 256 };

/* A test; without a function, the fixture of those that follow. */
struct test {
	struct CMUnitTest unit;
	bool is_plain; /* has the fixture above it */
	int place;     /* in the file */
};

static struct test test_all[TEST_MOST];
static int test_count;
static CMFixtureFunction test_group_setup, test_group_teardown;

/* Constructors run in no order that is promised. */
static inline void test_register(int place, bool is_plain, struct CMUnitTest unit)
{
	int i = test_count++;

	assert_true(i < TEST_MOST);
	for (; i && test_all[i - 1].place > place; i--)
		test_all[i] = test_all[i - 1];
	test_all[i] = (struct test){ unit, is_plain, place };
}

/* clang-format off */
#define TEST_CONSTRUCTOR(id) static __attribute__((constructor)) void register_##id(void)

#define TEST_DEFINE(name, place, is_plain, setup, teardown)					\
	static void name(void **state);								\
	TEST_CONSTRUCTOR(name)									\
	{											\
		test_register(place, is_plain, (struct CMUnitTest){				\
			#name, name, setup, teardown, NULL });					\
	}											\
	static void name(void **state __attribute__((unused)))

#define TEST(name)			  TEST_DEFINE(name, __COUNTER__, true, NULL, NULL)
#define TEST_WITH(name, setup, teardown)  TEST_DEFINE(name, __COUNTER__, false, setup, teardown)
#define TEST_LAST(name)			  TEST_DEFINE(name, INT_MAX, false, NULL, NULL)

#define FIXTURE(setup, teardown)								\
	TEST_CONSTRUCTOR(setup##_##teardown)							\
	{											\
		test_register(__COUNTER__, false, (struct CMUnitTest){				\
			"", NULL, setup, teardown, NULL });					\
	}											\
	_Static_assert(1, "")

#define TEST_ROWS(rows, function)								\
	TEST_CONSTRUCTOR(rows)									\
	{											\
		for (size_t i = 0; i < sizeof(rows) / sizeof((rows)[0]); i++)			\
			test_register(__COUNTER__, false, (struct CMUnitTest){			\
				(rows)[i].name, function, NULL, NULL, (void *)&(rows)[i] });	\
	}											\
	_Static_assert(1, "")

#define GROUP(setup, teardown)									\
	TEST_CONSTRUCTOR(group)									\
	{											\
		test_group_setup = setup;							\
		test_group_teardown = teardown;							\
	}											\
	_Static_assert(1, "")
/* clang-format on */

static inline bool test_is_named(const char *name, char **words)
{
	bool is_named = !*words;

	for (; *words && !is_named; words++)
		is_named = strstr(name, *words);
	return is_named;
}

static inline int test_run(char **argv)
{
	const struct CMUnitTest *fixture = &(struct CMUnitTest){ 0 };
	bool lists = argv[0] && argv[1] && !strcmp(argv[1], "--list");
	struct CMUnitTest units[TEST_MOST];
	size_t n = 0;

	for (const struct test *test = test_all; test < test_all + test_count; test++) {
		if (!test->unit.test_func)
			fixture = &test->unit;
		if (!test->unit.test_func || !test_is_named(test->unit.name, argv + 1 + lists))
			continue;
		if (lists)
			puts(test->unit.name);
		units[n] = test->unit;
		if (test->is_plain) {
			units[n].setup_func = fixture->setup_func;
			units[n].teardown_func = fixture->teardown_func;
		}
		n++;
	}
	return lists ? 0
		     : _cmocka_run_group_tests("tests", units, n, test_group_setup,
					       test_group_teardown);
}

#ifndef TEST_MAIN
int main(int argc, char **argv)
{
	return argc ? test_run(argv) : 1;
}
#endif
