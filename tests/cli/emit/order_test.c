/*
 * Events of other threads that a thread waits for
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

/* An event that changes the object, or reads it. */
struct deed {
	uint32_t thread;
	bool changes;
};

static void do_event(const struct deed *deed, uint64_t n)
{
	char name[8];
	int err;

	snprintf(name, sizeof(name), "t%u", deed->thread);
	program.at = (struct event_id){ deed->thread, n };
	assert_int_equal(order_begin(&order, name, "e"), 0);
	err = deed->changes ? order_change(&order, OBJECT, ROLE_STATE)
			    : order_read(&order, OBJECT, ROLE_STATE);
	assert_int_equal(err, 0);
	if (!deed->changes)
		assert_int_equal(order_note_use(&order, OBJECT, ROLE_STATE), 0);
	phrase_addf(&program.phrase, "event();");
	assert_int_equal(program_add(&program, true), 0);
	assert_int_equal(order_end(&order), 0);
}

/* All of them in the pass that finds awaited events, and again as statements. */
static void do_events(const struct deed *deeds, uint64_t n)
{
	program.phrase.ignored = true;
	for (uint64_t i = 0; i < n; i++)
		do_event(&deeds[i], i + 1);
	program.phrase.ignored = false;
	assert_int_equal(order_restart(&order), 0);
	for (uint64_t i = 0; i < n; i++)
		do_event(&deeds[i], i + 1);
	assert_int_equal(order_finish(&order), 0);
}

#define DO_EVENTS(...)                                  \
	do_events((const struct deed[]){ __VA_ARGS__ }, \
		  sizeof((const struct deed[]){ __VA_ARGS__ }) / sizeof(struct deed))

static const char *text_of(uint32_t thread, size_t i)
{
	const struct block *block = &program.blocks[thread];

	return i < block->n ? program.texts.at[loops_first(block->at[i])->text - 1] : NULL;
}

static void count_statement(void *arg, const struct node *node, uint64_t n)
{
	(void)node;
	(void)n;
	++*(size_t *)arg;
}

static size_t count_statements(uint32_t thread)
{
	size_t n = 0;

	for (size_t i = 0; i < program.blocks[thread].n; i++)
		loops_visit(program.blocks[thread].at[i], count_statement, &n);
	return n;
}

TEST(a_reader_waits_for_the_change_of_another)
{
	DO_EVENTS({ 1, true }, { 2, false });
	assert_string_equal(text_of(1, 0), "event();");
	assert_string_equal(text_of(1, 1), "done(&t1_e);");
	assert_string_equal(text_of(2, 0), "await(" SLOT "n, &t1_e, " SLOT "d);");
	assert_string_equal(text_of(2, 1), "event();");
	assert_string_equal(order_counter(&order, 0), "t1_e");
	assert_null(order_counter(&order, 1));
}

TEST(a_change_waits_for_readers)
{
	DO_EVENTS({ 1, false }, { 2, true });
	assert_string_equal(text_of(1, 1), "done(&t1_e);");
	assert_string_equal(text_of(2, 0), "await(" SLOT "n, &t1_e, " SLOT "d);");
}

TEST(readers_do_not_wait_for_each_other)
{
	DO_EVENTS({ 1, false }, { 2, false });
	assert_string_equal(text_of(2, 0), "event();");
	assert_null(order_counter(&order, 0));
}

TEST(what_was_waited_for_is_known)
{
	DO_EVENTS({ 1, true }, { 2, false }, { 2, false });
	assert_int_equal(count_statements(2), 3);
}

TEST(a_thread_does_not_wait_for_itself)
{
	DO_EVENTS({ 1, true }, { 1, true });
	assert_int_equal(count_statements(1), 2);
}

TEST(few_events_that_are_waited_for_count_alone)
{
	DO_EVENTS({ 1, true }, { 1, true }, { 1, true }, { 2, false });
	assert_int_equal(count_statements(1), 4); /* one counts: the third */
	assert_string_equal(text_of(1, 1), "done(&t1_e);");
	assert_int_equal(numbers_first(&program.blocks[2].at[0]->values[1]), 1);
}

TEST(a_wait_names_the_event_behind_it)
{
	DO_EVENTS({ 1, true }, { 2, false });
	assert_string_equal(program.texts.at[program.blocks[2].at[0]->coming - 1], "event();");
	assert_int_equal(program.blocks[2].at[1]->coming, 0);
}

/* A completion of a poll, whose text is its kind. */
static void add_completion(const char *kind, uint32_t qp, bool receive, bool failed)
{
	struct script *script = &program.scripts[1];

	phrase_addf(&program.phrase, "%s", kind);
	assert_int_equal(program_add(&program, true), 0);
	script->at[script->n - 1].completion = true;
	script->at[script->n - 1].qp = qp;
	script->at[script->n - 1].receive = receive;
	script->at[script->n - 1].failed = failed;
}

static void begin_poll(uint64_t n)
{
	program.at = (struct event_id){ 1, n };
	assert_int_equal(order_begin(&order, "t1", "e"), 0);
}

static char polled[16]; /* the kinds in order */

static void note_kind(void *arg, const struct node *node, uint64_t n)
{
	size_t length = strlen(polled);

	(void)arg;
	(void)n;
	assert_true(length + 1 < sizeof(polled));
	polled[length] = *program.texts.at[node->text - 1];
	polled[length + 1] = '\0';
}

/* Poll 1 has a, b and c, of three queue pairs; poll 2 has b, a and c, of @qps. */
static void poll_twice(const uint32_t qps[3], bool receive, bool failed)
{
	begin_poll(1);
	add_completion("a", 1, false, false);
	add_completion("b", 2, false, false);
	add_completion("c", 3, false, false);
	assert_int_equal(order_end(&order), 0);
	begin_poll(2);
	add_completion("b", qps[0], receive, failed);
	add_completion("a", qps[1], false, false);
	add_completion("c", qps[2], false, false);
	assert_int_equal(order_end(&order), 0);
	*polled = '\0';
	for (size_t i = 0; i < program.blocks[1].n; i++)
		loops_visit(program.blocks[1].at[i], note_kind, NULL);
}

TEST(completions_of_different_queue_pairs_are_sorted)
{
	poll_twice((uint32_t[]){ 2, 1, 3 }, false, false);
	assert_string_equal(polled, "abcabc");
}

TEST(completions_of_a_queue_keep_their_order)
{
	poll_twice((uint32_t[]){ 3, 3, 3 }, false, false);
	assert_string_equal(polled, "abcbac");
}

TEST(a_send_and_a_receive_are_sorted)
{
	poll_twice((uint32_t[]){ 3, 3, 3 }, true, false);
	assert_string_equal(polled, "abcabc");
}

TEST(an_error_may_be_of_either_queue)
{
	poll_twice((uint32_t[]){ 3, 3, 3 }, true, true);
	assert_string_equal(polled, "abcbac");
}
