/* Finding and starting programs: scripts in a folder of our own. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/record/launch.h"
#include "tests/test.h"

static char dir[128], path[2][160], found[PATH_MAX];
static const char *before;

/* @name in folder 0 or 1. */
static const char *name_file(int folder, const char *name)
{
	static char text[300];

	snprintf(text, sizeof(text), "%s/%s", path[folder], name);
	return text;
}

static void make_file(int folder, const char *name, mode_t mode)
{
	FILE *file = fopen(name_file(folder, name), "we");

	assert_non_null(file);
	fputs("#!/bin/sh\nexit ${1:-0}\n", file);
	fclose(file);
	assert_int_equal(chmod(name_file(folder, name), mode), 0);
}

/* Two folders: program `both` is in both of them. */
static int make_folders(void **state)
{
	const char *parent = getenv("TMPDIR");
	char both[400];

	(void)state;
	snprintf(dir, sizeof(dir), "%s/launch_test-XXXXXX", parent ? parent : "/tmp");
	assert_non_null(mkdtemp(dir));
	for (int i = 0; i < 2; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/%d", dir, i);
		assert_int_equal(mkdir(path[i], 0700), 0);
		make_file(i, "both", 0700);
	}
	before = getenv("PATH");
	snprintf(both, sizeof(both), "%s:%s", path[0], path[1]);
	setenv("PATH", both, 1);
	return 0;
}

static int remove_folders(void **state)
{
	static const char *const names[] = { "both", "one", "denied" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
			unlink(name_file(i, names[k]));
		rmdir(name_file(i, "folder"));
		assert_int_equal(rmdir(path[i]), 0);
	}
	return rmdir(dir);
}

FIXTURE(make_folders, remove_folders);

TEST(the_first_folder_counts)
{
	assert_int_equal(launch_find("both", found), 0);
	assert_string_equal(found, name_file(0, "both"));
	make_file(1, "one", 0700);
	assert_int_equal(launch_find("one", found), 0);
	assert_string_equal(found, name_file(1, "one"));
}

TEST(a_program_that_may_not_run_counts_if_there_is_no_other)
{
	make_file(0, "denied", 0600);
	assert_int_equal(launch_find("denied", found), -EACCES);
	make_file(1, "denied", 0700);
	assert_int_equal(launch_find("denied", found), 0);
	assert_string_equal(found, name_file(1, "denied"));
}

TEST(a_folder_is_no_program)
{
	assert_int_equal(mkdir(name_file(0, "folder"), 0700), 0);
	assert_int_equal(launch_find("folder", found), -EACCES);
	assert_int_equal(launch_find(name_file(0, "folder"), found), -EACCES);
}

TEST(a_name_with_a_slash_is_not_searched)
{
	assert_int_equal(launch_find(name_file(1, "both"), found), 0);
	assert_string_equal(found, name_file(1, "both"));
	assert_int_equal(launch_find("./both", found), -ENOENT);
	assert_int_equal(launch_find("", found), -ENOENT);
	assert_int_equal(launch_find("none", found), -ENOENT);
}

/* As for execvp(3). */
TEST(an_empty_folder_is_the_current_one)
{
	char here[PATH_MAX];

	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(path[1]), 0);
	setenv("PATH", ":/no/such/folder", 1);
	assert_int_equal(launch_find("both", found), 0);
	assert_string_equal(found, "both");
	setenv("PATH", "/no/such/folder:", 1);
	assert_int_equal(launch_find("both", found), 0);
	assert_int_equal(chdir(here), 0);
}

static int wait_for(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return launch_status(status);
}

TEST(a_program_is_started_with_its_arguments)
{
	char *argv[] = { "both", "3", NULL };
	sigset_t mask;
	pid_t pid;

	sigemptyset(&mask);
	assert_int_equal(launch_program(argv, &mask, &pid), 0);
	assert_int_equal(wait_for(pid), 3);
}

TEST(what_cannot_be_started_has_the_status_of_a_shell)
{
	char *none[] = { "none", NULL }, *denied[] = { "denied", NULL };
	sigset_t mask;
	pid_t pid = 0;

	sigemptyset(&mask);
	make_file(0, "denied", 0600);
	assert_int_equal(launch_program(none, &mask, &pid), 127);
	assert_int_equal(launch_program(denied, &mask, &pid), 126);
	assert_int_equal(pid, 0);
	assert_int_equal(launch_failure_status(-ENOENT), CLI_NOT_FOUND);
	assert_int_equal(launch_failure_status(-EACCES), CLI_CANNOT_RUN);
}

TEST(a_signal_is_a_status_as_in_a_shell)
{
	char *argv[] = { "/bin/sh", "-c", "kill -TERM $$", NULL };
	sigset_t mask;
	pid_t pid;

	sigemptyset(&mask);
	assert_int_equal(launch_program(argv, &mask, &pid), 0);
	assert_int_equal(wait_for(pid), 128 + SIGTERM);
}

/* The signals that the recorder ignores are not ignored in the program, and the mask is its own. */
TEST(a_program_gets_the_actions_from_before)
{
	char *argv[] = { "/bin/sh", "-c", "kill -PIPE $$; exit 4", NULL };
	char *masked[] = { "/bin/sh", "-c", "kill -TERM $$; exit 5", NULL };
	sigset_t mask;
	pid_t pid;

	launch_ignore_signals();
	sigemptyset(&mask);
	assert_int_equal(launch_program(argv, &mask, &pid), 0);
	assert_int_equal(wait_for(pid), 128 + SIGPIPE);
	sigaddset(&mask, SIGTERM);
	assert_int_equal(launch_program(masked, &mask, &pid), 0);
	assert_int_equal(wait_for(pid), 5);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
}

TEST(a_held_program_gets_the_environment_of_its_release)
{
	char *argv[] = { "/bin/sh", "-c", "[ \"$HELD\" = yes ] && exit 6", NULL };
	struct launch_held_process held;
	sigset_t mask;
	pid_t pid;

	sigemptyset(&mask);
	setenv("HELD", "no", 1);
	assert_int_equal(launch_hold(argv, &held), 0);
	setenv("HELD", "yes", 1);
	pid = held.pid;
	assert_int_equal(launch_release(&held, &mask), 0);
	assert_int_equal(held.pid, 0);
	assert_int_equal(wait_for(pid), 6);
	launch_drop(&held); /* does nothing */
	unsetenv("HELD");
}

TEST(a_held_program_that_cannot_be_started_is_reported_on_release)
{
	char *argv[] = { "none", NULL };
	struct launch_held_process held;
	sigset_t mask;

	sigemptyset(&mask);
	assert_int_equal(launch_hold(argv, &held), 0);
	assert_int_equal(launch_release(&held, &mask), 127);
}

TEST(a_held_program_is_dropped)
{
	char *argv[] = { "both", NULL };
	struct launch_held_process held;
	pid_t pid;

	assert_int_equal(launch_hold(argv, &held), 0);
	pid = held.pid;
	launch_drop(&held);
	assert_int_equal(held.pid, 0);
	assert_int_equal(waitpid(pid, NULL, 0), -1); /* it has been waited for */
}

/* Some daemons ignore SIGCHLD, which what they start inherits. */
TEST(a_program_can_be_waited_for_if_sigchld_was_ignored)
{
	char *argv[] = { "/bin/sh", "-c", "exit 7", NULL };
	sigset_t mask;
	int status = 0;
	pid_t pid;

	signal(SIGCHLD, SIG_IGN);
	launch_ignore_signals();
	sigprocmask(SIG_SETMASK, NULL, &mask);
	assert_int_equal(launch_program(argv, &mask, &pid), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 7);
}
