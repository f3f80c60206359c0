#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
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

TEST(a_wire_makes_it_the_software_device)
{
	assert_string_equal(device_set_wire("soft:eth0"), "soft");
	assert_string_equal(getenv("VERBATIM_SOFT_WIRE"), "eth0");
	unsetenv("VERBATIM_SOFT_WIRE");
	assert_string_equal(device_set_wire("rxe0"), "rxe0");
	assert_null(device_set_wire(NULL));
}

TEST(a_wire_without_a_name_is_no_device)
{
	assert_string_equal(device_set_wire("soft:"), "soft:");
	assert_null(getenv("VERBATIM_SOFT_WIRE"));
}

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

/* Compare the output on stderr. */
static void expect_refused(const char *asked, const char *devices, const char *told)
{
	char path[64], text[512];
	int before = dup(STDERR_FILENO), ends[2];
	bool soft = false;
	ssize_t n;

	in_dir(devices, path);
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	dup2(ends[1], STDERR_FILENO);
	assert_int_equal(device_choose(asked, path, &soft), -ENODEV);
	dup2(before, STDERR_FILENO);
	n = read(ends[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	if (!strstr(text, told))
		fail_msg("no '%s' in: %s", told, text);
	close(ends[0]);
	close(ends[1]);
	close(before);
}

TEST(unknown_device_is_refused_with_those_that_there_are)
{
	expect_refused("mlx5_1", "empty", "unknown RDMA device 'mlx5_1'; available: soft\n");
	expect_refused("mlx5_1", "two", "unknown RDMA device 'mlx5_1'; available: ");
	expect_refused("mlx5_1", "two", "rxe0");
	expect_refused("mlx5_1", "two", "mlx5_0");
	expect_refused("mlx5_1", "two", ", soft\n");
	expect_refused("rxe", "two", "unknown RDMA device 'rxe'");
}

/* A file below the devices, with the folders above it. */
static void put_file(const char *name, const char *text, mode_t mode)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s%s", dir, name);
	for (char *at = strchr(path + strlen(dir) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(path, 0755);
		*at = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
	fchmod(fd, mode);
	close(fd);
}

/* The output of device_report_closed() on stderr, as an ordinary user. */
static void tell_closed(const char *asked, char text[512])
{
	int before = dup(STDERR_FILENO), ends[2];
	ssize_t n;

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	dup2(ends[1], STDERR_FILENO);
	assert_int_equal(getuid() || !seteuid(65534), 1); /* root may open anything */
	device_report_closed(asked, dir);
	assert_int_equal(getuid() || !seteuid(0), 1);
	dup2(before, STDERR_FILENO);
	n = read(ends[0], text, 511);
	text[n > 0 ? n : 0] = '\0';
	close(ends[0]);
	close(ends[1]);
	close(before);
}

TEST(node_that_is_closed_to_the_user_is_reported)
{
	char text[512];

	chmod(dir, 0755);
	put_file("/sys/class/infiniband_verbs/uverbs0/ibdev", "rxe0\n", 0644);
	put_file("/sys/class/infiniband_verbs/uverbs1/ibdev", "siw0\n", 0644);
	put_file("/sys/class/infiniband_verbs/abi_version", "6\n", 0644);
	put_file("/dev/infiniband/uverbs0", "", 0600);
	put_file("/dev/infiniband/uverbs1", "", 0666);
	if (getuid())
		put_file("/dev/infiniband/uverbs0", "", 0);
	tell_closed(NULL, text);
	assert_non_null(strstr(text, "rxe0 cannot be opened by this user"));
	assert_null(strstr(text, "siw0"));
	tell_closed("siw0", text);
	assert_string_equal(text, "");
}
