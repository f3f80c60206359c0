#include <malloc.h>
#include <stdlib.h>

#include "core/store/write/writer_priv.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

enum { STACKS = 100, FRAMES = 8 };

static struct writer *writer;
static char path[256];

static int begin_writer(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s", make_path("stacks.db"));
	unlink(path);
	writer = make_writer(path);
	return 0;
}

static int free_writer(void **state)
{
	int err = writer_finish(writer);

	(void)state;
	unlink(path);
	return err;
}

static uint32_t number_stack(uint32_t process, uint32_t modules, uint64_t first)
{
	uint64_t frames[FRAMES] = { first, 2, 3, 4, 5, 6, 7, 8 };
	uint32_t id;

	assert_int_equal(stacks_find_or_add(writer, process, modules, frames, FRAMES, &id), 0);
	return id;
}

FIXTURE(begin_writer, free_writer);

TEST(a_stack_has_one_number)
{
	uint32_t process, other, ids[5000];

	assert_int_equal(processes_new(writer, 100, 0, &process), 0);
	assert_int_equal(processes_new(writer, 101, 0, &other), 0);
	for (uint64_t i = 0; i < 5000; i++)
		ids[i] = number_stack(process, 0, i);
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(number_stack(process, 0, i), ids[i]);
	assert_int_equal(ids[4999], 5000);
	/* an equal stack of another process hashes to the same place, and gets another number */
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(number_stack(other, 0, i), 5001 + i);
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(number_stack(process, 1, i), 10001 + i);
}

static void live_and_die(int pid)
{
	uint32_t process;

	assert_int_equal(processes_new(writer, pid, 0, &process), 0);
	for (uint64_t i = 0; i < STACKS; i++)
		number_stack(process, 0, i);
	assert_int_equal(writer_end_process(writer, pid, pid, 0), 0);
}

/* A recording of days sees any number of processes. */
TEST(those_of_ended_processes_are_forgotten)
{
	uint32_t process, id;
	size_t before;

	assert_int_equal(processes_new(writer, 99, 0, &process), 0);
	id = number_stack(process, 0, 77);
	for (int pid = 100; pid < 200; pid++)
		live_and_die(pid);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	for (int pid = 200; pid < 600; pid++)
		live_and_die(pid);
	assert_in_range(mallinfo2().uordblks + mallinfo2().hblkhd, 0, before + (2 << 20));
	assert_int_equal(number_stack(process, 0, 77), id);
}
