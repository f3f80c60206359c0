/*
 * Files and directories with names that anybody may have put there
 */
#include "core/wire/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/wire/regular.h"
#include "tests/test.h"

static char folder[] = "/dev/shm/verbatim-dir-test.XXXXXX";
static int at = -1;

static void make_file(const char *name, mode_t mode, const char *text)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void make_dir(const char *name, mode_t mode)
{
	assert_int_equal(mkdirat(at, name, 0700), 0);
	assert_int_equal(fchmodat(at, name, mode, 0), 0);
}

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_file("file", 0644, "text");
	make_file("open_to_group", 0664, "text");
	make_file("open_to_all", 0602, "text");
	make_dir("dir", 0755);
	make_dir("dir_open_to_group", 0770);
	make_dir("dir_open_to_all", 0702);
	assert_int_equal(symlinkat("file", at, "link"), 0);
	assert_int_equal(symlinkat("dir", at, "dir_link"), 0);
	assert_int_equal(mkfifoat(at, "fifo", 0600), 0);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	close(at);
	dir_remove(AT_FDCWD, folder);
	return access(folder, F_OK) ? 0 : -1;
}

GROUP(make_folder, remove_folder);

/* 0, or the error; a descriptor is closed. */
static int error_of(int fd)
{
	if (fd < 0)
		return fd;
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	return 0;
}

static int open_file(const char *name, int flags)
{
	uint64_t bytes = 99;
	int err = error_of(dir_open_file(at, name, flags, &bytes));

	assert_int_equal(bytes, err ? 99 : 4);
	return err;
}

TEST(only_safe_files_are_opened)
{
	assert_int_equal(open_file("file", O_RDONLY), 0);
	assert_int_equal(open_file("file", O_RDWR), 0);
	assert_int_equal(open_file("missing", O_RDONLY), -ENOENT);
	assert_int_equal(open_file("link", O_RDONLY), -ELOOP);
	assert_int_equal(open_file("fifo", O_RDWR), -EPROTO);
	assert_int_equal(open_file("fifo", O_RDONLY), -EPROTO);
	assert_int_equal(open_file("dir", O_RDONLY), -EPROTO);
	assert_int_equal(open_file("open_to_group", O_RDONLY), -EACCES);
	assert_int_equal(open_file("open_to_all", O_RDONLY), -EACCES);
}

TEST(only_safe_directories_are_opened)
{
	assert_int_equal(error_of(dir_open(at, "dir")), 0);
	assert_int_equal(error_of(dir_open(at, "missing")), -ENOENT);
	assert_int_equal(error_of(dir_open(at, "file")), -ENOTDIR);
	assert_int_equal(error_of(dir_open(at, "dir_link")), -ENOTDIR);
	assert_int_equal(error_of(dir_open(at, "dir_open_to_group")), -EACCES);
	assert_int_equal(error_of(dir_open(at, "dir_open_to_all")), -EACCES);
	assert_int_equal(error_of(dir_open(AT_FDCWD, folder)), 0);
}

TEST(files_of_others_are_not_opened)
{
	if (geteuid())
		skip();
	assert_int_equal(fchownat(at, "file", 7, 7, 0), 0);
	assert_int_equal(fchownat(at, "dir", 7, 7, 0), 0);
	assert_int_equal(open_file("file", O_RDONLY), -EACCES);
	assert_int_equal(error_of(dir_open(at, "dir")), -EACCES);
	assert_int_equal(fchownat(at, "file", 0, 0, 0), 0);
	assert_int_equal(fchownat(at, "dir", 0, 0, 0), 0);
}

static int count_entries(int dir)
{
	DIR *list = dir_list(dir);
	int n = 0;

	assert_non_null(list);
	while (readdir(list))
		n++;
	closedir(list);
	return n;
}

TEST(a_listing_begins_at_the_beginning)
{
	int n = count_entries(at), file = openat(at, "file", O_RDONLY | O_CLOEXEC);

	assert_int_equal(n, 11);
	assert_int_equal(count_entries(at), n);
	errno = 0;
	assert_null(dir_list(file));
	assert_int_equal(errno, ENOTDIR);
	close(file);
	assert_null(dir_list(-1));
}

/* @depth directories in each other, with a file in each, and links out of them. */
static void make_tree(int depth)
{
	char name[256] = "tree", file[272];

	for (int i = 0; i < depth; i++) {
		make_dir(name, 0700);
		snprintf(file, sizeof(file), "%s/file", name);
		make_file(file, 0600, "text");
		snprintf(file, sizeof(file), "%s/link", name);
		assert_int_equal(symlinkat("../dir", at, file), 0);
		strcat(name, "/tree");
	}
}

static bool is_there(const char *name)
{
	return !faccessat(at, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

TEST(trees_are_removed_up_to_a_depth)
{
	make_file("dir/stays", 0600, "text");
	make_tree(8);
	dir_remove(at, "tree");
	assert_false(is_there("tree"));
	make_tree(9);
	dir_remove(at, "tree");
	assert_true(is_there("tree/tree/tree/tree/tree/tree/tree/tree/tree/file"));
	assert_false(is_there("tree/file"));
	assert_true(is_there("dir/stays"));
	dir_remove(at, "tree/tree");
	dir_remove(at, "tree");
	assert_false(is_there("tree"));
	dir_remove(at, "missing");
	assert_int_equal(unlinkat(at, "dir/stays", 0), 0);
}

static int open_regular(const char *path, uint64_t most)
{
	uint64_t size = 99;
	int err = error_of(regular_open(path, most, &size));

	if (!err)
		assert_int_equal(size, 4);
	return err;
}

TEST(untrusted_names_are_opened_if_they_are_files)
{
	char path[sizeof(folder) + 8];

	snprintf(path, sizeof(path), "%s/file", folder);
	assert_int_equal(open_regular(path, 100), 0);
	assert_int_equal(open_regular(path, 4), 0);
	assert_int_equal(open_regular(path, 3), -EFBIG);
	snprintf(path, sizeof(path), "%s/fifo", folder);
	assert_int_equal(open_regular(path, 100), -EINVAL);
	snprintf(path, sizeof(path), "%s/link", folder);
	assert_int_equal(open_regular(path, 100), 0);
	assert_int_equal(open_regular(folder, 1 << 20), -EINVAL);
	assert_int_equal(open_regular("/proc/self/status", 100), -EINVAL);
	assert_int_equal(open_regular("/sys/kernel/mm/transparent_hugepage/enabled", 1 << 20),
			 access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) ? -ENOENT
										     : -EINVAL);
	assert_int_equal(open_regular("/dev/null", 100), -EINVAL);
	assert_int_equal(open_regular("/no/such/file", 100), -ENOENT);
}
