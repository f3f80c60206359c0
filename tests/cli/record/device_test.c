#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/stat.h>

#include "cli/record/device.h"
#include "tests/test.h"

static char dir[] = "/tmp/device_test-XXXXXX";

static void in_dir(const char *name, char path[64])
{
	snprintf(path, 64, "%s/%s", dir, name);
}

static int make_devices(void **state)
{
	char path[64];

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	in_dir("empty", path);
	mkdir(path, 0700);
	in_dir("two", path);
	mkdir(path, 0700);
	in_dir("two/mlx5_0", path);
	mkdir(path, 0700);
	in_dir("two/rxe0", path);
	mkdir(path, 0700);
	return 0;
}

static int remove_devices(void **state)
{
	static const char *const names[] = { "two/rxe0", "two/mlx5_0", "two", "empty", "" };
	char path[64];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		in_dir(names[i], path);
		rmdir(path);
	}
	return 0;
}

static bool chooses_soft(const char *asked, const char *devices)
{
	char path[64];
	bool soft;

	in_dir(devices, path);
	assert_int_equal(device_choose(asked, path, &soft), 0);
	return soft;
}

GROUP(make_devices, remove_devices);

TEST(machine_without_device_gets_the_software_one)
{
	assert_true(chooses_soft(NULL, "empty"));
	assert_true(chooses_soft(NULL, "not there"));
}

TEST(machine_with_a_device_keeps_it)
{
	assert_false(chooses_soft(NULL, "two"));
	assert_false(chooses_soft("rxe0", "two"));
}

TEST(soft_is_there_when_asked_for)
{
	assert_true(chooses_soft("soft", "two"));
}

TEST(unknown_device_is_refused)
{
	char path[64];
	bool soft = false;

	in_dir("two", path);
	assert_int_equal(device_choose("mlx5_1", path, &soft), -ENODEV);
}
