/*
 * A folder that appears when it is complete, and replaces nothing
 */
#include "cli/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "core/wire/log.h"
#include "tests/parent.h"
#include "tests/printed.h"

GROUP(make_parent, remove_parent);

static char path[PATH_MAX];

static const char *path_of(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", parent, name);
	return path;
}

static bool file_exists(const char *name)
{
	struct stat st;

	return !lstat(path_of(name), &st);
}

static void make_file(const struct folder *folder, const char *name)
{
	char file[PATH_MAX + 16];
	int fd;

	snprintf(file, sizeof(file), "%s/%s", folder->path, name);
	fd = open(file, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
}

TEST(it_has_another_name_until_it_is_kept)
{
	struct folder folder = { 0 };

	assert_int_equal(folder_make(&folder, path_of("done")), 0);
	assert_int_equal(strncmp(folder.path, path, strlen(path)), 0);
	assert_int_equal(strlen(folder.path), strlen(path) + strlen(".XXXXXX"));
	make_file(&folder, "file");
	assert_false(file_exists("done"));
	assert_int_equal(folder_move_to(&folder, path_of("done")), 0);
	assert_true(file_exists("done/file"));
	folder_remove(&folder);
	assert_true(file_exists("done/file"));
	unlink(path_of("done/file"));
	rmdir(path_of("done"));
}

TEST(slashes_at_the_end_are_not_of_the_name)
{
	struct folder folder = { 0 };

	assert_int_equal(folder_make(&folder, path_of("done//")), 0);
	assert_non_null(strstr(folder.path, "/done."));
	folder_remove(&folder);
	assert_true(access(folder.path, F_OK) || !*folder.path);
}

TEST(one_that_is_not_kept_is_removed_with_its_files)
{
	struct folder folder = { 0 };
	char before[PATH_MAX];

	assert_int_equal(folder_make(&folder, path_of("done")), 0);
	snprintf(before, sizeof(before), "%s", folder.path);
	make_file(&folder, "one");
	make_file(&folder, "two");
	folder_remove(&folder);
	assert_int_not_equal(access(before, F_OK), 0);
	folder_remove(&folder);
	folder_remove(&(struct folder){ 0 });
}

TEST(nothing_is_replaced)
{
	struct folder folder = { 0 };

	log_silence(true);
	assert_int_equal(mkdir(path_of("taken"), 0700), 0);
	assert_int_equal(folder_make(&folder, path_of("taken")), -EEXIST);
	assert_int_equal(folder.path[0], '\0');
	assert_int_equal(folder_make(&folder, path_of("done")), 0);
	assert_int_equal(folder_move_to(&folder, path_of("taken")), -EEXIST);
	make_file(&folder, "file");
	assert_int_equal(folder_move_file(&folder, "file", path_of("taken")), -EEXIST);
	assert_int_equal(folder_move_file(&folder, "file", path_of("given")), 0);
	log_silence(false);
	assert_true(file_exists("given"));
	folder_remove(&folder);
	unlink(path_of("given"));
	rmdir(path_of("taken"));
}

TEST(a_folder_that_cannot_be_made_has_no_name)
{
	static char long_name[PATH_MAX];
	struct folder folder = { 0 };

	log_silence(true);
	assert_int_equal(folder_make(&folder, path_of("absent/done")), -ENOENT);
	assert_int_equal(folder.path[0], '\0');
	memset(long_name, '/', sizeof(long_name) - 1);
	memset(long_name + 1, 'x', sizeof(long_name) - 4);
	long_name[sizeof(long_name) - 3] = '\0';
	assert_int_equal(folder_make(&folder, long_name), -ENAMETOOLONG);
	assert_int_equal(folder.path[0], '\0');
	log_silence(false);
}

/* What is said about it, and the way to it is left out. */
static void expect_said(const char *wanted)
{
	struct text text = { 0 };
	char said[PATH_MAX] = "", *at = said;

	printed_end(&text);
	for (const char *from = text.at ?: ""; *from;) {
		size_t n = strncmp(from, parent, strlen(parent)) ? 0 : strlen(parent);

		from += n;
		if (!n)
			*at++ = *from++;
	}
	assert_string_equal(said, wanted);
	text_fini(&text);
}

TEST(messages_name_the_final_path)
{
	struct folder folder = { 0 };

	assert_int_equal(mkdir(path_of("taken"), 0700), 0);
	printed_begin(true);
	folder_make(&folder, path_of("taken"));
	expect_said("verbatim: /taken already exists; choose another name\n");
	printed_begin(true);
	folder_make(&folder, path_of("absent/done"));
	expect_said("verbatim: write /absent/done: No such file or directory\n");
	assert_int_equal(folder_make(&folder, path_of("done")), 0);
	printed_begin(true);
	assert_int_equal(folder_move_to(&folder, path_of("absent/done")), -ENOENT);
	expect_said("verbatim: write /absent/done: No such file or directory\n");
	printed_begin(true);
	assert_int_equal(folder_move_file(&folder, "file", path_of("given")), -ENOENT);
	expect_said("verbatim: write /given: No such file or directory\n");
	printed_begin(true);
	folder_move_to(&folder, path_of("taken"));
	expect_said("verbatim: /taken already exists; choose another name\n");
	folder_remove(&folder);
	rmdir(path_of("taken"));
}
