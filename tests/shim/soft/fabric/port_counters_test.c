/* What the ports of the software device count, for all processes with one directory. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/soft/fabric/port_counters.h"
#include "shim/soft/fabric/profile.h"
#include "tests/test.h"

enum { PROCESSES = 3, TIMES = 2000, ROOM = 160 };

static char dir[] = "/tmp/port_counters_test-XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) && !setenv("VERBATIM_SOFT_COUNTERS", dir, 1) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

/* The text of the file below port @port; "" if there is none. */
static const char *read_counter(uint32_t port, const char *name)
{
	static char text[32];
	char path[ROOM];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s/ports/%u/%s", dir, profile_get()->name, port, name);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return text;
}

static void add_many(uint32_t port, enum port_counter counter)
{
	for (int i = 0; i < TIMES; i++)
		port_counters_add(port, counter);
}

GROUP(make_dir, remove_dir);

TEST(published_counters_are_zero)
{
	port_counters_publish();
	for (int i = 0; i < PORT_COUNTERS; i++)
		assert_string_equal(read_counter(1, port_counter_names[i]), "       0\n");
	assert_string_equal(read_counter(2, port_counter_names[0]), ""); /* no such port */
}

TEST(processes_count_together)
{
	int status;

	for (int i = 0; i < PROCESSES; i++) {
		if (fork())
			continue;
		add_many(3, PORT_COUNTER_ACK_TIMEOUT);
		_exit(0);
	}
	for (int i = 0; i < PROCESSES; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_string_equal(read_counter(3, "hw_counters/local_ack_timeout_err"), "    6000\n");
	port_counters_add(3, PORT_COUNTER_ACK_TIMEOUT);
	assert_string_equal(read_counter(3, "hw_counters/local_ack_timeout_err"), "    6001\n");
	assert_string_equal(read_counter(3, "hw_counters/rnr_nak_retry_err"), "");
}

TEST(the_greatest_value_stays)
{
	char path[ROOM];
	int fd;

	port_counters_add(4, PORT_COUNTER_LINK_DOWN);
	assert_true(port_counters_path(4, PORT_COUNTER_LINK_DOWN, path, sizeof(path)));
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "99999998", 8, 0), 8);
	close(fd);
	port_counters_add(4, PORT_COUNTER_LINK_DOWN);
	port_counters_add(4, PORT_COUNTER_LINK_DOWN);
	assert_string_equal(read_counter(4, "counters/link_downed"), "99999999\n");
}

TEST(a_port_that_does_not_exist_is_not_counted)
{
	port_counters_add(0, PORT_COUNTER_RNR);
	port_counters_add(1000, PORT_COUNTER_RNR);
	assert_string_equal(read_counter(0, "hw_counters/rnr_nak_retry_err"), "");
}

TEST(without_a_directory_nothing_is_counted)
{
	char path[ROOM];

	unsetenv("VERBATIM_SOFT_COUNTERS");
	assert_false(port_counters_path(5, PORT_COUNTER_RNR, path, sizeof(path)));
	port_counters_add(5, PORT_COUNTER_RNR);
	setenv("VERBATIM_SOFT_COUNTERS", dir, 1);
	assert_string_equal(read_counter(5, "hw_counters/rnr_nak_retry_err"), "");
	assert_false(port_counters_path(5, PORT_COUNTER_RNR, path, 20));
}
