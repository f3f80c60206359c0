/*
 * Which files are traces, and whether their writers have finished
 */
#include "core/store/db/file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/store/db/schema.h"
#include "core/wire/log.h"
#include "tests/test.h"

enum { PAGE = 4096, PAGES = 3 };

static char dir[32], path[64], beside[96];

static int make_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/verbatim-file-XXXXXX");
	log_silence(true);
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/t.db", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	log_silence(false);
	file_remove(path);
	if (*beside)
		unlink(beside);
	*beside = '\0';
	return rmdir(dir);
}

FIXTURE(make_dir, remove_dir);

static void write_file(const char *name, const void *bytes, size_t n)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n, file), n);
	assert_int_equal(fclose(file), 0);
}

static void put_be32(uint8_t *at, uint32_t number)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(number >> (24 - 8 * i));
}

/* The first page of a trace, and as many bytes as its pages. */
static uint8_t page[PAGE * PAGES + 1];

static void begin_trace(void)
{
	memset(page, 0, sizeof(page));
	memcpy(page, "SQLite format 3", 16);
	page[16] = PAGE >> 8;
	page[18] = page[19] = 1;
	put_be32(page + 24, 7);
	put_be32(page + 28, PAGES);
	put_be32(page + 60, SCHEMA_VERSION);
	put_be32(page + 68, SCHEMA_APPLICATION);
	put_be32(page + 92, 7);
}

static int check_bytes(size_t n, bool *ret_unfinished)
{
	write_file(path, page, n);
	return file_check(path, ret_unfinished);
}

static int check_trace(void)
{
	bool unfinished;

	return check_bytes(PAGE * PAGES, &unfinished);
}

static char read_mark(const char *name)
{
	char mark = '\0';
	FILE *file = fopen(name, "r");

	if (!file)
		return '\0';
	assert_int_equal(fseek(file, PAGE, SEEK_SET), 0);
	mark = (char)fgetc(file);
	fclose(file);
	return mark;
}

static void write_marked(const char *name, char mark)
{
	begin_trace();
	page[PAGE] = (uint8_t)mark;
	write_file(name, page, PAGE * PAGES);
}

TEST(trace_that_is_replaced_is_kept)
{
	char to[96];

	snprintf(beside, sizeof(beside), "%s.old", path);
	snprintf(to, sizeof(to), "%s.part", path);
	for (char mark = 'a'; mark < 'd'; mark++) {
		write_marked(to, mark);
		assert_int_equal(file_check_replace(path), 0);
		assert_int_equal(file_replace(to, path, false), 0);
		assert_int_equal(read_mark(path), mark);
		assert_int_equal(read_mark(beside), mark == 'a' ? 0 : mark - 1);
	}
}

TEST(trace_of_before_is_kept_when_the_new_one_has_events)
{
	write_marked(path, 'a');
	snprintf(beside, sizeof(beside), "%s.old", path);
	assert_int_equal(file_set_aside(path), 1);
	write_marked(path, 'b');
	file_forget_before(path);
	assert_int_equal(read_mark(path), 'b');
	assert_int_equal(read_mark(beside), 'a');
}

TEST(file_in_place_of_the_kept_trace_is_refused)
{
	write_marked(path, 'a');
	snprintf(beside, sizeof(beside), "%s.old", path);
	write_file(beside, "precious", 8);
	assert_int_equal(file_check_replace(path), -EEXIST);
	assert_int_equal(file_set_aside(path), -EEXIST);
	assert_int_equal(file_create_replacing(path), -EEXIST);
	assert_int_equal(read_mark(path), 'a');
}

TEST(trace_is_a_database_of_this_application)
{
	bool unfinished = true;

	begin_trace();
	assert_int_equal(check_bytes(PAGE * PAGES, &unfinished), 0);
	assert_false(unfinished);
	assert_true(file_is_trace(path));
	page[15] = 1; /* the NUL */
	assert_int_equal(check_trace(), -EINVAL);
	assert_false(file_is_trace(path));
	begin_trace();
	put_be32(page + 68, SCHEMA_APPLICATION ^ 1);
	assert_int_equal(check_trace(), -EINVAL);
	assert_false(file_is_trace(path));
}

TEST(versions_have_two_bounds)
{
	static const struct {
		uint32_t version;
		int result;
	} rows[] = { { SCHEMA_OLDEST - 1, -EPROTO },
		     { SCHEMA_OLDEST, 0 },
		     { SCHEMA_VERSION, 0 },
		     { SCHEMA_VERSION + 1, -EPROTO } };

	begin_trace();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		put_be32(page + 60, rows[i].version);
		assert_int_equal(check_trace(), rows[i].result);
		assert_true(file_is_trace(path)); /* of any version */
	}
}

TEST(short_files_are_truncated)
{
	bool unfinished;

	begin_trace();
	assert_int_equal(check_bytes(0, &unfinished), -EINVAL);
	assert_int_equal(check_bytes(99, &unfinished), -EINVAL);
	assert_false(file_is_trace(path));
	assert_int_equal(check_bytes(100, &unfinished), -EINVAL);
	assert_int_equal(check_bytes(PAGE * PAGES - 1, &unfinished), -EINVAL);
	assert_int_equal(check_bytes(PAGE * PAGES + 1, &unfinished), 0);
	put_be32(page + 28, PAGES + 1);
	assert_int_equal(check_trace(), -EINVAL);
	put_be32(page + 24, 8); /* another writer, which did not count its pages */
	assert_int_equal(check_trace(), 0);
}

TEST(page_size_of_1_is_64_kib)
{
	begin_trace();
	page[16] = 0;
	page[17] = 1;
	put_be32(page + 28, 1);
	assert_int_equal(check_trace(), -EINVAL);
	put_be32(page + 28, 0);
	assert_int_equal(check_trace(), 0);
}

TEST(wal_is_unfinished)
{
	bool unfinished = false;

	begin_trace();
	page[18] = page[19] = 2;
	put_be32(page + 28, PAGES + 1); /* the others are in the WAL */
	assert_int_equal(check_bytes(PAGE * PAGES, &unfinished), 0);
	assert_true(unfinished);
}

TEST(journals_beside_it_are_unfinished)
{
	static const char *const tails[] = { "-journal", "-wal" };

	begin_trace();
	for (size_t i = 0; i < 2; i++)
		for (size_t bytes = 0; bytes < 2; bytes++) {
			bool unfinished = !bytes;

			snprintf(beside, sizeof(beside), "%s%s", path, tails[i]);
			write_file(beside, "x", bytes);
			assert_int_equal(check_bytes(PAGE * PAGES, &unfinished), 0);
			assert_int_equal(unfinished, bytes != 0);
			unlink(beside);
		}
}

/* Also if it is not a file, which SQLite could not open. */
TEST(folder_in_place_of_a_journal_is_unfinished)
{
	bool unfinished = false;

	begin_trace();
	snprintf(beside, sizeof(beside), "%s-journal", path);
	assert_int_equal(symlink("/nowhere", beside), 0);
	assert_int_equal(check_bytes(PAGE * PAGES, &unfinished), 0);
	assert_true(unfinished);
}

TEST(journal_of_a_link_is_beside_the_file)
{
	bool unfinished = false;
	char other[96];

	begin_trace();
	snprintf(beside, sizeof(beside), "%s/link", dir);
	assert_int_equal(symlink(path, beside), 0);
	assert_int_equal(check_bytes(PAGE * PAGES, &unfinished), 0);
	snprintf(other, sizeof(other), "%s-wal", path);
	write_file(other, "x", 1);
	assert_int_equal(file_check(beside, &unfinished), 0);
	assert_true(unfinished);
	assert_false(file_is_trace(beside));
}

TEST(what_is_no_file_is_no_trace)
{
	bool unfinished;

	assert_int_equal(file_check(dir, &unfinished), -EINVAL);
	assert_int_equal(file_check(path, &unfinished), -ENOENT);
	assert_false(file_is_trace(dir));
	assert_false(file_is_trace(path));
}

TEST(the_boot_has_the_kernels_number)
{
	char text[64], wanted[64] = "";
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%63s", wanted), 1);
	fclose(file);
	file_boot_id(text);
	assert_string_equal(text, wanted);
}
