/*
 * What a thread waits for in another
 */
#include "cli/emit/order.h"

#include <stdlib.h>

#include "tests/test.h"

enum { OBJECT = 1, OBJECTS = 1, THREADS = 2 };

static struct program program;
static struct order order;

static int make_order(void **state)
{
	(void)state;
	memset(&program, 0, sizeof(program));
	program.objects = calloc(OBJECTS + 1, sizeof(*program.objects));
	program.nobjects = OBJECTS;
	program.nthreads = THREADS;
	return program.objects ? order_init(&order, &program) : -1;
}

static int free_order(void **state)
{
	(void)state;
	order_fini(&order);
	program_fini(&program);
	return 0;
}

FIXTURE(make_order, free_order);

/* Event @n of @thread is a statement that changes the object, or reads it. */
static void do_event(uint32_t thread, uint64_t n, bool changes)
{
	program.at = (struct event_id){ thread, n };
	assert_int_equal(order_begin(&order, "t%u", thread), 0);
	assert_int_equal(changes ? order_change(&order, OBJECT, ROLE_STATE)
				 : order_read(&order, OBJECT, ROLE_STATE),
			 0);
	if (!changes)
		assert_int_equal(order_touch(&order, OBJECT, ROLE_STATE), 0);
	phrase_addf(&program.phrase, "event();");
	assert_int_equal(program_add(&program, true), 0);
	order_end(&order);
}

static const char *text_of(uint32_t thread, size_t i)
{
	const struct script *script = &program.scripts[thread];

	return i < script->n ? program.texts.at[script->at[i].text - 1] : NULL;
}

TEST(a_reader_waits_for_the_change_of_another)
{
	do_event(1, 1, true);
	do_event(2, 1, false);
	assert_int_equal(order_finish(&order), 0);
	assert_string_equal(text_of(1, 0), "event();");
	assert_string_equal(text_of(1, 1), "done(&t1);");
	assert_string_equal(text_of(2, 0), "await(" SLOT "n, &t1, " SLOT "d);");
	assert_string_equal(text_of(2, 1), "event();");
	assert_string_equal(order_counter(&order, 0), "t1");
	assert_null(order_counter(&order, 1));
}

TEST(a_change_waits_for_readers)
{
	do_event(1, 1, false);
	do_event(2, 1, true);
	assert_int_equal(order_finish(&order), 0);
	assert_string_equal(text_of(1, 1), "done(&t1);");
	assert_string_equal(text_of(2, 0), "await(" SLOT "n, &t1, " SLOT "d);");
}

TEST(readers_do_not_wait_for_each_other)
{
	do_event(1, 1, false);
	do_event(2, 1, false);
	assert_int_equal(order_finish(&order), 0);
	assert_string_equal(text_of(2, 0), "event();");
	assert_null(order_counter(&order, 0));
}

TEST(what_was_waited_for_is_known)
{
	do_event(1, 1, true);
	do_event(2, 1, false);
	do_event(2, 2, false);
	assert_int_equal(order_finish(&order), 0);
	assert_int_equal(program.scripts[2].n, 3);
}

TEST(a_thread_does_not_wait_for_itself)
{
	do_event(1, 1, true);
	do_event(1, 2, true);
	assert_int_equal(order_finish(&order), 0);
	assert_int_equal(program.scripts[1].n, 2);
}
