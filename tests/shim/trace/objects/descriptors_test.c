#include <fcntl.h>
#include <unistd.h>

#include "shim/trace/objects/descriptors.h"
#include "tests/test.h"

static struct event_descriptor staying[EVENT_FORK_DESCRIPTORS];
static const char objects[DESCRIPTORS + 1];
static int fd;

static int open_one(void **state)
{
	(void)state;
	descriptors_begin(true);
	fd = open("/dev/null", O_RDONLY);
	return fd < 0;
}

static int close_one(void **state)
{
	(void)state;
	return close(fd);
}

FIXTURE(open_one, close_one);

TEST(an_open_descriptor_stays)
{
	descriptors_add(&objects[0], fd);
	assert_int_equal(descriptors_list_staying(staying), 1);
	assert_int_equal(staying[0].object, (uintptr_t)&objects[0]);
	assert_int_equal(staying[0].fd, fd);
	descriptors_remove(&objects[0]);
	assert_int_equal(descriptors_list_staying(staying), 0);
}

TEST(one_that_exec_closes_does_not_stay)
{
	descriptors_add(&objects[0], fd);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	assert_int_equal(descriptors_list_staying(staying), 0);
}

TEST(a_closed_one_and_none_do_not_stay)
{
	descriptors_add(&objects[0], -1);
	descriptors_add(&objects[1], 1 << 20);
	assert_int_equal(descriptors_list_staying(staying), 0);
}

TEST(an_object_goes_with_all_its_descriptors)
{
	descriptors_add(&objects[0], fd);
	descriptors_add(&objects[1], fd);
	descriptors_add(&objects[0], fd);
	descriptors_remove(&objects[0]);
	assert_int_equal(descriptors_list_staying(staying), 1);
	assert_int_equal(staying[0].object, (uintptr_t)&objects[1]);
}

TEST(a_child_has_none)
{
	descriptors_add(&objects[0], fd);
	descriptors_begin(false);
	assert_int_equal(descriptors_list_staying(staying), 1);
	descriptors_begin(true);
	assert_int_equal(descriptors_list_staying(staying), 0);
}

TEST(there_is_room_for_as_many_as_promised)
{
	for (int i = 0; i <= DESCRIPTORS; i++)
		descriptors_add(&objects[i], fd);
	assert_int_equal(descriptors_list_staying(staying), EVENT_FORK_DESCRIPTORS);
	for (int i = 0; i < DESCRIPTORS - 1; i++)
		descriptors_remove(&objects[i]);
	assert_int_equal(descriptors_list_staying(staying), 1);
	assert_int_equal(staying[0].object, (uintptr_t)&objects[DESCRIPTORS - 1]);
	descriptors_add(&objects[DESCRIPTORS], fd);
	assert_int_equal(descriptors_list_staying(staying), 2);
}
