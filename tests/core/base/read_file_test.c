/*
 * Reading whole files
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <stdlib.h>

#include "core/base/read_file.h"
#include "tests/test.h"

TEST(long_files_are_read_whole)
{
	char path[] = "/tmp/read_file.XXXXXX", *text = NULL;
	int fd = mkstemp(path);
	FILE *file = fdopen(fd, "w");
	size_t bytes = 0;

	for (int i = 0; i < 20000; i++)
		fputs("0123456789", file);
	fclose(file);
	assert_int_equal(read_file(path, &text, &bytes), 0);
	unlink(path);
	assert_int_equal(bytes, 200000);
	assert_int_equal(strlen(text), bytes);
	assert_string_equal(text + bytes - 10, "0123456789");
	free(text);
}

TEST(files_without_a_length_are_read)
{
	char *text = NULL;
	size_t bytes = 0;

	assert_int_equal(read_file("/proc/self/status", &text, &bytes), 0);
	assert_true(bytes > 0);
	free(text);
}

TEST(a_missing_file_is_enoent)
{
	char *text = (void *)-1;
	size_t bytes = 7;

	assert_int_equal(read_file("/no/such/file", &text, &bytes), -ENOENT);
	assert_int_equal(read_file("/tmp", &text, &bytes), -EISDIR);
	assert_ptr_equal(text, (void *)-1);
	assert_int_equal(bytes, 7);
}
