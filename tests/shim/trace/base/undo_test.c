/*
 * Replaced pointers, and their original values
 *
 * The recorder is in this program: addresses of its functions and variables are the recorder's, and
 * others, such as those of memory from malloc(), are the program's.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/trace/base/undo.h"
#include "tests/test.h"

enum { SLOTS = 5000 };

static int ours[2]; /* the recorder's */
static int *theirs; /* the program's */
static void *slots[SLOTS];

static int begin_undo(void **state)
{
	(void)state;
	theirs = theirs ?: calloc(SLOTS, sizeof(*theirs));
	undo_begin();
	return 0;
}

static int end_undo(void **state)
{
	(void)state;
	undo_all();
	memset(slots, 0, sizeof(slots));
	return 0;
}

TEST(nothing_is_noted_until_it_begins)
{
	void *slot = malloc(1), *was = slot;

	assert_false(undo_is_on());
	assert_null(undo_find(&slot));
	undo_note(&slot);
	assert_null(undo_find(&slot));
	undo_begin();
	assert_true(undo_is_on());
	undo_note(&slot);
	assert_ptr_equal(undo_find(&slot), was);
	undo_all();
	assert_true(undo_is_on());
	assert_ptr_equal(slot, was);
	free(was);
}

FIXTURE(begin_undo, end_undo);

TEST(all_pointers_are_restored)
{
	for (int i = 0; i < SLOTS; i++) {
		slots[i] = &theirs[i];
		undo_note(&slots[i]);
		slots[i] = &ours[i % 2];
	}
	for (int i = 0; i < SLOTS; i++)
		assert_ptr_equal(undo_find(&slots[i]), &theirs[i]);
	undo_all();
	for (int i = 0; i < SLOTS; i++) {
		assert_ptr_equal(slots[i], &theirs[i]);
		assert_null(undo_find(&slots[i]));
	}
}

TEST(the_last_value_counts)
{
	for (int round = 0; round < SLOTS; round++) {
		slots[3] = &theirs[round];
		undo_note(&slots[3]);
		slots[3] = &ours[0];
	}
	slots[4] = &theirs[4];
	undo_note(&slots[4]);
	slots[4] = &ours[1];
	assert_ptr_equal(undo_find(&slots[3]), &theirs[SLOTS - 1]);
	undo_all();
	assert_ptr_equal(slots[3], &theirs[SLOTS - 1]);
	assert_ptr_equal(slots[4], &theirs[4]);
}

TEST(a_pointer_of_the_recorder_is_not_noted)
{
	slots[0] = &ours[0];
	undo_note(&slots[0]);
	assert_null(undo_find(&slots[0]));
	slots[0] = &theirs[0];
	undo_note(&slots[0]);
	slots[0] = &ours[0];
	undo_note(&slots[0]);
	assert_ptr_equal(undo_find(&slots[0]), &theirs[0]);
}

TEST(a_pointer_that_the_program_has_changed_stays)
{
	slots[0] = slots[1] = &theirs[0];
	undo_note(&slots[0]);
	undo_note(&slots[1]);
	slots[0] = &theirs[1];
	slots[1] = &ours[1];
	undo_all();
	assert_ptr_equal(slots[0], &theirs[1]);
	assert_ptr_equal(slots[1], &theirs[0]);
}

TEST(memory_that_is_gone_is_not_written)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void **gone = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	gone[0] = &theirs[0];
	undo_note(&gone[0]);
	slots[0] = &theirs[1];
	undo_note(&slots[0]);
	slots[0] = &ours[0];
	munmap(gone, page);
	undo_all();
	assert_ptr_equal(slots[0], &theirs[1]);
}
