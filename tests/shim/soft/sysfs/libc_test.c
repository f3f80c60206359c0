/* The functions of libc that lead to the device's sysfs tree, each by itself. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "tests/test.h"

#define MISC   "/sys/class/misc/rdma_cm"
#define CM     "/dev/infiniband/rdma_cm"
#define UVERBS "/dev/infiniband/uverbs0"

/* In libc for programs built long ago, or with _FORTIFY_SOURCE. */
int __xstat(int version, const char *path, struct stat *st);
int __lxstat(int version, const char *path, struct stat *st);
int __fxstat(int version, int fd, struct stat *st);
int __fxstatat(int version, int dir, const char *path, struct stat *st, int flags);
int __open_2(const char *path, int flags);
char *__realpath_chk(const char *path, char *resolved, size_t room);

static char *read_fd(int fd, char text[64])
{
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, text, 63);
	assert_true(n >= 0);
	text[n] = '\0';
	close(fd);
	return text;
}

TEST(each_open_reads_the_file)
{
	int root = open("/", O_RDONLY | O_DIRECTORY);
	int dir = open(MISC, O_RDONLY | O_DIRECTORY);
	char text[64];

	assert_true(dir >= 0);
	assert_string_equal(read_fd(open(MISC "/abi_version", O_RDONLY), text), "4\n");
	assert_string_equal(read_fd(open64(MISC "/abi_version", O_RDONLY), text), "4\n");
	assert_string_equal(read_fd(__open_2(MISC "/abi_version", O_RDONLY), text), "4\n");
	assert_string_equal(read_fd(openat(AT_FDCWD, MISC "/abi_version", O_RDONLY), text), "4\n");
	assert_string_equal(read_fd(openat(dir, "abi_version", O_RDONLY), text), "4\n");
	assert_string_equal(
		read_fd(openat(root, "sys/class/misc/rdma_cm/abi_version", O_RDONLY), text), "4\n");
	close(dir);
	close(root);
}

TEST(fopen_reads_the_file)
{
	FILE *file = fopen(MISC "/dev", "re");
	unsigned int major, minor;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%u:%u", &major, &minor), 2);
	file = freopen(MISC "/abi_version", "re", file);
	assert_non_null(file);
	assert_int_equal(fgetc(file), '4');
	fclose(file);
}

TEST(other_spellings_are_the_same_path)
{
	assert_int_equal(access("//sys/class//misc/./rdma_cm/dev", R_OK), 0);
	assert_int_equal(access(MISC "/", R_OK), 0);
	assert_int_equal(access("/sys/class/misc/rdma_cm2", F_OK), -1);
}

TEST(other_paths_are_left_alone)
{
	int (*volatile opens)(const char *, int, ...) = open;
	char path[4200];
	struct stat st;

	memset(path, 'a', sizeof(path));
	memcpy(path, CM "/", sizeof(CM));
	path[4100] = '\0';
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(errno, ENAMETOOLONG);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_int_equal(st.st_rdev, makedev(1, 3));
	assert_int_equal(opens(NULL, O_RDONLY), -1);
	assert_int_equal(errno, EFAULT);
}

TEST(errno_is_kept)
{
	errno = ESRCH;
	assert_int_equal(access(MISC "/dev", R_OK), 0);
	assert_int_equal(errno, ESRCH);
}

TEST(open_takes_a_mode)
{
	char path[] = "/tmp/libc_test.XXXXXX";
	struct stat st;
	int fd;

	close(mkstemp(path));
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0640);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode, (S_IFREG | 0640));
	close(fd);
	unlink(path);
}

static void expect_node(const struct stat *st, unsigned int major, unsigned int minor)
{
	assert_true(S_ISCHR(st->st_mode));
	assert_int_equal(st->st_rdev, makedev(major, minor));
}

TEST(each_stat_tells_a_device_node)
{
	int fd = open(UVERBS, O_RDWR);
	struct statx stx;
	struct stat st;
#define TRY(call)                           \
	do {                                \
		memset(&st, 0, sizeof(st)); \
		assert_int_equal(call, 0);  \
		expect_node(&st, 231, 192); \
	} while (0)

	assert_true(fd >= 0);
	TRY(stat(UVERBS, &st));
	TRY(lstat(UVERBS, &st));
	TRY(fstat(fd, &st));
	TRY(stat64(UVERBS, (struct stat64 *)&st));
	TRY(lstat64(UVERBS, (struct stat64 *)&st));
	TRY(fstat64(fd, (struct stat64 *)&st));
	TRY(fstatat(AT_FDCWD, UVERBS, &st, 0));
	TRY(fstatat(fd, "", &st, AT_EMPTY_PATH));
	TRY(__xstat(1, UVERBS, &st));
	TRY(__lxstat(1, UVERBS, &st));
	TRY(__fxstat(1, fd, &st));
	TRY(__fxstatat(1, AT_FDCWD, UVERBS, &st, 0));
	assert_int_equal(statx(AT_FDCWD, UVERBS, 0, STATX_BASIC_STATS, &stx), 0);
	assert_true(S_ISCHR(stx.stx_mode));
	assert_int_equal(stx.stx_rdev_major, 231);
	assert_int_equal(stx.stx_rdev_minor, 192);
	close(fd);
}

TEST(cm_node_has_the_number_that_sysfs_tells)
{
	unsigned int major, minor;
	struct stat st;
	char text[64];

	read_fd(open(MISC "/dev", O_RDONLY), text);
	assert_int_equal(sscanf(text, "%u:%u", &major, &minor), 2);
	assert_int_equal(stat(CM, &st), 0);
	expect_node(&st, major, minor);
}

static unsigned int seen_nodes;

static int is_node(const struct dirent *entry)
{
	seen_nodes += !strcmp(entry->d_name, "rdma_cm") || !strcmp(entry->d_name, "uverbs0");
	return 0;
}

TEST(directories_list_the_nodes)
{
	DIR *dir = opendir("/dev/infiniband");
	struct dirent **list, *entry;

	assert_non_null(dir);
	seen_nodes = 0;
	while ((entry = readdir(dir)))
		if (is_node(entry), entry->d_name[0] != '.')
			assert_int_not_equal(entry->d_type, DT_REG);
	closedir(dir);
	assert_int_equal(seen_nodes, 2);
	assert_int_equal(scandir("/dev/infiniband", &list, is_node, alphasort), 0);
	free(list);
	assert_int_equal(seen_nodes, 4);
}

TEST(real_paths_are_those_of_sys)
{
	char resolved[4096], *path = realpath(MISC "/dev", NULL);

	assert_non_null(path);
	assert_memory_equal(path, "/sys/", 5);
	free(path);
	assert_ptr_equal(realpath(MISC "/dev", resolved), resolved);
	assert_memory_equal(resolved, "/sys/", 5);
	assert_ptr_equal(__realpath_chk(MISC "/dev", resolved, sizeof(resolved)), resolved);
	assert_memory_equal(resolved, "/sys/", 5);
	path = canonicalize_file_name(MISC "/dev");
	assert_memory_equal(path, "/sys/", 5);
	free(path);
}

TEST(glob_finds_files)
{
	glob_t found = { .gl_opendir = (void *)1 };

	assert_int_equal(glob(MISC "/d*", 0, NULL, &found), 0);
	assert_int_equal(glob("/dev/infiniband/*", GLOB_APPEND, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 3);
	assert_string_equal(found.gl_pathv[0], MISC "/dev");
	assert_string_equal(found.gl_pathv[1], CM);
	assert_string_equal(found.gl_pathv[2], UVERBS);
	assert_ptr_equal(found.gl_opendir, (void *)1);
	globfree(&found);
}

TEST(chdir_enters_a_face)
{
	char *back = getcwd(NULL, 0), *here, text[64];

	assert_int_equal(chdir(MISC), 0);
	here = getcwd(NULL, 0);
	assert_memory_equal(here, "/sys/", 5);
	assert_int_equal(access(here, F_OK), 0);
	free(here);
	assert_string_equal(read_fd(open("abi_version", O_RDONLY), text), "4\n");
	assert_int_equal(chdir(back), 0);
	free(back);
}

static char *tree_of(int pid, char path[64])
{
	snprintf(path, 64, "/dev/shm/verbatim-soft-%u.sys.%d", geteuid(), pid);
	return path;
}

/* Its number, when it has ended in this way. */
static int in_child(void (*does)(void), int ending)
{
	int pid = fork(), status;

	if (!pid) {
		does();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, ending);
	return pid;
}

static void look_around(void)
{
	if (access(MISC, F_OK))
		abort();
}

static void is_killed(void)
{
	char path[64];

	look_around();
	if (access(tree_of(getpid(), path), F_OK))
		abort();
	kill(getpid(), SIGKILL);
}

TEST(a_child_leaves_nothing)
{
	char path[64];

	look_around();
	tree_of(in_child(look_around, 0), path);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(tree_of(getpid(), path), F_OK), 0);
}

TEST(the_killed_are_swept_by_the_next)
{
	char path[64];

	/* other programs may have swept it already */
	tree_of(in_child(is_killed, SIGKILL), path);
	in_child(look_around, 0);
	assert_int_equal(access(path, F_OK), -1);
}

TEST(a_tree_that_was_tidied_away_comes_back)
{
	char path[64], other[80];

	look_around();
	tree_of(getpid(), path);
	snprintf(other, sizeof(other), "%s.away", path);
	assert_int_equal(rename(path, other), 0);
	look_around();
	assert_int_equal(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "rm -rf %.56s", other);
	assert_int_equal(system(path), 0);
}
