/* Remains in the fabric's directory of a process that dies as it joins or leaves. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "shim/soft/fabric/directory.h"
#include "shim/soft/fabric/registry.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

static char dir[64], gone[96];

static int set_up(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "%s/made", fabric_dir);
	return setenv("VERBATIM_SOFT_FABRIC", dir, 1);
}

static int tear_down(void **state)
{
	(void)state;
	return setenv("VERBATIM_SOFT_FABRIC", fabric_dir, 1);
}

static void open_and_close(void)
{
	assert_int_equal(ibv_close_device(open_context()), 0);
}

static bool is_present(const char *path)
{
	return access(path, F_OK) == 0;
}

static pid_t number_of_the_dead(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

static void make_gone(pid_t pid, mode_t mode)
{
	char file[128];
	int fd;

	snprintf(gone, sizeof(gone), "%s.gone.%d", dir, (int)pid);
	snprintf(file, sizeof(file), "%s/fabric", gone);
	assert_int_equal(mkdir(gone, mode), 0);
	fd = open(file, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void unmake_gone(void)
{
	char file[128];

	snprintf(file, sizeof(file), "%s/fabric", gone);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(gone), 0);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, tear_down);

TEST(empty_directory_of_the_dead_goes)
{
	pid_t pid = fork();

	if (!pid) { /* like a process that is killed after its first step */
		if (!mkdir(dir, 0700 | S_ISVTX))
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	assert_true(is_present(dir));
	open_and_close();
	assert_false(is_present(dir));
}

TEST(directory_of_the_user_stays)
{
	assert_int_equal(mkdir(dir, 0700), 0);
	open_and_close();
	assert_int_equal(rmdir(dir), 0);
}

TEST(slashes_at_the_end_do_not_matter)
{
	strcat(dir, "//");
	setenv("VERBATIM_SOFT_FABRIC", dir, 1);
	open_and_close();
	assert_false(is_present(dir));
}

TEST(what_the_dead_were_removing_goes)
{
	make_gone(number_of_the_dead(), 0700 | S_ISVTX);
	open_and_close();
	assert_false(is_present(gone));
}

TEST(segments_of_the_dead_go_with_it)
{
	char file[128];

	make_gone(number_of_the_dead(), 0700 | S_ISVTX);
	snprintf(file, sizeof(file), "%s/node.3.7.0", gone);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	open_and_close();
	assert_false(is_present(gone));
}

TEST(link_under_the_name_of_the_dead_is_not_followed)
{
	char link[96];

	make_gone(1, 0700 | S_ISVTX);
	snprintf(link, sizeof(link), "%s.gone.%d", dir, (int)number_of_the_dead());
	assert_int_equal(symlink(gone, link), 0);
	open_and_close();
	unlink(link);
	unmake_gone();
}

/* Opens the device with only @left more of @resource than this process uses now. */
static void fail_within(int resource, rlim_t now, rlim_t left)
{
	const struct rlimit limit = { now + left, now + left };
	struct ibv_device **list;
	pid_t pid = fork();
	int status;

	if (!pid) {
		list = ibv_get_device_list(NULL);
		if (setrlimit(resource, &limit))
			_exit(2);
		_exit(!list || ibv_open_device(list[0]));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_false(is_present(dir));
}

TEST(a_process_that_can_open_no_file_leaves_none)
{
	int fd = dup(0);

	close(fd);
	for (rlim_t left = 0; left < 3; left++)
		fail_within(RLIMIT_NOFILE, fd, left);
}

TEST(a_process_without_memory_leaves_none)
{
	unsigned long pages;
	FILE *statm = fopen("/proc/self/statm", "r");

#ifdef __SANITIZE_ADDRESS__
	skip();
#endif
	assert_int_equal(fscanf(statm, "%lu", &pages), 1);
	fclose(statm);
	/* too few for the fabric; then enough for that, but not for a segment */
	fail_within(RLIMIT_AS, pages * 4096, 512 << 10);
	fail_within(RLIMIT_AS, pages * 4096, 64 << 20);
}

TEST(what_the_living_are_removing_stays)
{
	make_gone(getpid(), 0700 | S_ISVTX);
	open_and_close();
	unmake_gone();
}

TEST(what_is_not_ours_stays)
{
	make_gone(number_of_the_dead(), 0700);
	open_and_close();
	unmake_gone();
}

/* Does a process wait for a lock on it? The page proc_locks of section 5: "1: -> POSIX ..." */
static bool is_awaited(const struct stat *st)
{
	char line[256], inode[32];
	FILE *locks = fopen("/proc/locks", "r");
	bool found = false;

	snprintf(inode, sizeof(inode), ":%lu ", (unsigned long)st->st_ino);
	while (!found && fgets(line, sizeof(line), locks))
		found = strstr(line, "->") && strstr(line, inode);
	fclose(locks);
	return found;
}

static pid_t fork_member(void)
{
	pid_t pid = fork();

	if (!pid) {
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		open_and_close();
		_exit(0);
	}
	return pid;
}

static void expect_well(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The process owns the directory, and is killed while it removes it. */
static void die_removing(int fd)
{
	char path[80], to[96];
	struct stat st;

	setenv("CMOCKA_TEST_ABORT", "1", 1);
	open_context();
	registry_lock();
	snprintf(path, sizeof(path), "%s/fabric", dir);
	if (stat(path, &st) < 0 || write(fd, "x", 1) != 1)
		_exit(1);
	while (!is_awaited(&st))
		usleep(100);
	snprintf(to, sizeof(to), "%s.gone.%d", dir, (int)getpid());
	if (!rename(dir, to))
		kill(getpid(), SIGKILL);
	_exit(1);
}

TEST(a_process_that_waited_for_a_dead_one_starts_again)
{
	int fds[2], status;
	pid_t pid, waiter;
	char word;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid)
		die_removing(fds[1]);
	assert_int_equal(read(fds[0], &word, 1), 1);
	waiter = fork_member();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	expect_well(waiter);
	close(fds[0]);
	close(fds[1]);
	assert_false(is_present(dir));
	/* the segment of the process was in this directory */
	snprintf(gone, sizeof(gone), "%s.gone.%d", dir, (int)pid);
	open_and_close();
	assert_false(is_present(gone));
}

/* Killed with the lock held, it leaves a child that inherited its descriptors. */
TEST(lock_of_the_dead_is_not_its_childs)
{
	int fds[2], stop[2];
	pid_t pid;
	char word;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(pipe(stop), 0);
	pid = fork();
	if (!pid) {
		open_context();
		registry_lock();
		if (!fork()) {
			close(stop[1]);
			word = write(fds[1], "x", 1);
			_exit(read(stop[0], &word, 1));
		}
		pause();
	}
	assert_int_equal(read(fds[0], &word, 1), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	alarm(20);
	open_and_close();
	alarm(0);
	close(stop[1]);
	close(stop[0]);
	assert_false(is_present(dir));
	close(fds[0]);
	close(fds[1]);
}
