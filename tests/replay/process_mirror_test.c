#include <string.h>

#include "replay/process/process_mirror.h"
#include "tests/test.h"

enum { PARENT = 1, CHILD, OTHER };

static void hook_nothing(struct mirror *mirror)
{
	(void)mirror;
}

static int make_mirrors(void **state)
{
	return mirrors_new(hook_nothing, (struct mirrors **)state);
}

static int free_mirrors(void **state)
{
	mirrors_free(*state);
	return 0;
}

FIXTURE(make_mirrors, free_mirrors);

static struct mirror *put_pd(struct mirrors *m, uint32_t process, uint64_t real)
{
	const struct process_copy copy = { .real = real, .kind = OBJECT_pd };
	void *at = mirror_put(m, process, &copy, true, NULL);

	assert_non_null(at);
	return mirror_of(at);
}

TEST(a_child_has_what_its_parent_had)
{
	struct mirror *pd = put_pd(*state, PARENT, 0x1000);

	assert_int_equal(mirrors_fork(*state, PARENT, CHILD), 0);
	assert_true(mirror_has(*state, CHILD, pd));
	assert_ptr_equal(mirror_at(*state, CHILD, 0x1000), pd->copy);
}

TEST(a_child_has_not_what_its_parent_made_later)
{
	struct mirror *pd;

	assert_int_equal(mirrors_fork(*state, PARENT, CHILD), 0);
	pd = put_pd(*state, PARENT, 0x1000);
	assert_false(mirror_has(*state, CHILD, pd));
	assert_null(mirror_at(*state, CHILD, 0x1000));
	assert_true(mirror_has(*state, PARENT, pd));
}

TEST(nobody_has_what_another_process_made)
{
	struct mirror *pd = put_pd(*state, PARENT, 0x1000);

	assert_false(mirror_has(*state, OTHER, pd));
	assert_null(mirror_at(*state, OTHER, 0x1000));
}

TEST(one_address_is_another_object_in_another_process)
{
	struct mirror *one = put_pd(*state, PARENT, 0x1000), *other;

	other = put_pd(*state, OTHER, 0x1000);
	assert_ptr_not_equal(one, other);
	assert_ptr_equal(mirror_at(*state, PARENT, 0x1000), one->copy);
	assert_ptr_equal(mirror_at(*state, OTHER, 0x1000), other->copy);
	assert_false(mirror_has(*state, PARENT, other));
}

TEST(a_child_that_destroys_its_copy_has_it_no_more)
{
	struct mirror *pd = put_pd(*state, PARENT, 0x1000);

	assert_int_equal(mirrors_fork(*state, PARENT, CHILD), 0);
	mirror_drop(*state, CHILD, pd);
	assert_false(mirror_has(*state, CHILD, pd));
	assert_true(mirror_has(*state, PARENT, pd));
	mirror_drop(*state, CHILD, pd); /* destroying it a second time changes nothing */
	assert_true(mirror_has(*state, PARENT, pd));
}

TEST(a_copy_stays_as_long_as_somebody_has_the_object)
{
	struct mirror *pd = put_pd(*state, PARENT, 0x1000);

	assert_int_equal(mirrors_fork(*state, PARENT, CHILD), 0);
	mirror_drop(*state, PARENT, pd);
	assert_ptr_not_equal(put_pd(*state, PARENT, 0x2000), pd);
	mirror_drop(*state, CHILD, pd);
	assert_ptr_equal(put_pd(*state, PARENT, 0x3000), pd);
}

TEST(an_heir_is_asked_for_what_it_has_alone)
{
	struct mirror *before = put_pd(*state, PARENT, 0x1000), *after;

	assert_int_equal(mirrors_fork(*state, PARENT, CHILD), 0);
	after = put_pd(*state, PARENT, 0x2000);
	mirrors_hand_down(*state, PARENT, CHILD);
	assert_int_equal(before->process, CHILD);
	assert_int_equal(after->process, PARENT);
}
