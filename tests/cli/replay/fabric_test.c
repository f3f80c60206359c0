#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/replay/fabric.h"
#include "tests/parent.h"
#include "tests/test.h"

static void put_files(const struct fabric *fabric)
{
	char path[FABRIC_PATH + 16];

	snprintf(path, sizeof(path), "%s/fabric", fabric->path);
	assert_true(close(open(path, O_CREAT | O_WRONLY, 0600)) == 0);
	snprintf(path, sizeof(path), "%s/pipe.0.1.2", fabric->path);
	assert_int_equal(mkfifo(path, 0600), 0);
}

GROUP(make_parent, remove_parent);

TEST(fabric_of_the_dead_is_swept)
{
	struct fabric *left = calloc(1, sizeof(*left)), fabric;
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		if (fabric_make(parent, left))
			_exit(1);
		put_files(left);
		if (write(ends[1], left, sizeof(*left)) < 0)
			_exit(1);
		pause();
	}
	assert_int_equal(read(ends[0], left, sizeof(*left)), sizeof(*left));
	assert_int_equal(fabric_make(parent, &fabric), 0);
	assert_int_equal(access(left->path, F_OK), 0);
	fabric_remove(&fabric);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(fabric_make(parent, &fabric), 0);
	assert_int_equal(access(left->path, F_OK), -1);
	fabric_remove(&fabric);
	close(ends[0]);
	close(ends[1]);
	free(left);
}

TEST(remove_takes_all_of_it)
{
	struct fabric fabric;

	assert_int_equal(fabric_make(parent, &fabric), 0);
	put_files(&fabric);
	fabric_remove(&fabric);
	assert_int_equal(access(fabric.path, F_OK), -1);
}

TEST(link_under_its_name_is_not_followed)
{
	char elsewhere[] = "/tmp/fabric_test.other-XXXXXX", file[64], link_path[96];
	struct fabric fabric;

	assert_non_null(mkdtemp(elsewhere));
	snprintf(file, sizeof(file), "%s/fabric", elsewhere);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	snprintf(link_path, sizeof(link_path), "%s/verbatim-replay-AAAAAA", parent);
	assert_int_equal(symlink(elsewhere, link_path), 0);
	assert_int_equal(fabric_make(parent, &fabric), 0);
	assert_int_equal(access(file, F_OK), 0);
	fabric_remove(&fabric);
	unlink(link_path);
	unlink(file);
	rmdir(elsewhere);
}
