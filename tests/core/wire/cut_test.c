/*
 * Truncated files of a session, in processes of their own
 */
#include "core/wire/cut.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"

enum { PAGE = 4096, PAGES = 8, LEFT = 3 };

static char folder[] = "/dev/shm/verbatim-cut-test.XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

GROUP(make_folder, remove_folder);

/* A mapped file whose end is gone. */
static uint8_t *map_cut(const char *name)
{
	char path[sizeof(folder) + 600];
	uint8_t *at;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PAGES * PAGE), 0);
	at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	memset(at, 7, PAGES * PAGE);
	assert_int_equal(ftruncate(fd, LEFT * PAGE), 0);
	close(fd);
	unlink(path);
	return at;
}

static bool reads_as(const uint8_t *at, int from, int to, uint8_t value)
{
	for (int i = from * PAGE; i < to * PAGE; i++)
		if (at[i] != value)
			return false;
	return true;
}

/* The status of a child that maps @name, mends what is at page @page, and reads it. */
static int mend_in_child(const char *name, const char *dir, int page)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		uint8_t *at = map_cut(name);

		if (!cut_repair(dir, at + page * PAGE + 17))
			_exit(1);
		if (!reads_as(at, page, PAGES, 0) || !reads_as(at, 0, page < LEFT ? page : LEFT, 7))
			_exit(2);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST(rings_and_pages_of_the_session_are_mended)
{
	assert_int_equal(mend_in_child("ring.0", folder, LEFT), 0);
	assert_int_equal(mend_in_child("ring.17", folder, PAGES - 1), 0);
	assert_int_equal(mend_in_child("ring.1", NULL, 0), 0);
	assert_int_equal(mend_in_child("session", folder, LEFT + 1), 0);
}

TEST(other_files_are_not)
{
	char longer[sizeof(folder) + 1], shorter[sizeof(folder)], other[sizeof(folder)];

	snprintf(longer, sizeof(longer), "%sx", folder);
	snprintf(shorter, sizeof(shorter), "%.*s", (int)strlen(folder) - 1, folder);
	snprintf(other, sizeof(other), "%s", shorter);
	strcat(other, folder[strlen(folder) - 1] == 'x' ? "y" : "x");
	assert_int_equal(mend_in_child("rings", NULL, LEFT), 1);
	assert_int_equal(mend_in_child("other", folder, LEFT), 1);
	assert_int_equal(mend_in_child("ring.0", longer, LEFT), 1);
	assert_int_equal(mend_in_child("ring.0", shorter, LEFT), 1);
	assert_int_equal(mend_in_child("ring.0", other, LEFT), 1);
	assert_false(cut_repair(NULL, folder));
	assert_false(cut_repair(NULL, (void *)8));
}

/* A line of /proc/self/maps may be longer than is looked at. */
TEST(a_long_name_is_not_mended)
{
	char name[251];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memcpy(name, "ring.", 5);
	assert_int_equal(mend_in_child(name, folder, LEFT), 0);
}

static int catch_in_child(const char *name)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		volatile uint8_t *at = map_cut(name);

		cut_catch();
		at[LEFT * PAGE + 5] = 1;
		_exit(at[LEFT * PAGE + 5] == 1 && !at[LEFT * PAGE + 6] ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

TEST(the_handler_mends_and_ends)
{
	assert_int_equal(catch_in_child("ring.3"), 0);
	assert_int_equal(catch_in_child("other"), SIGBUS);
}

TEST(a_signal_that_was_sent_ends_the_process)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		cut_catch();
		raise(SIGBUS);
		raise(SIGBUS);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, SIGBUS);
}
