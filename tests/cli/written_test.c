/*
 * cli/written.c: the line of JSON about a written file.
 */
#include "cli/written.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/test.h"

/* What written_put() prints about @path. */
static const char *print_line(const char *path, const struct written_count *counts)
{
	static char line[512];
	int before = dup(STDOUT_FILENO), ends[2];
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	fflush(stdout);
	dup2(ends[1], STDOUT_FILENO);
	close(ends[1]);
	assert_int_equal(written_put("trim", path, counts), 0);
	dup2(before, STDOUT_FILENO);
	close(before);
	n = read(ends[0], line, sizeof(line) - 1);
	close(ends[0]);
	line[n > 0 ? n : 0] = '\0';
	return line;
}

TEST(line_has_the_file_and_its_size)
{
	char path[] = "/tmp/written.XXXXXX", want[128];
	int fd = mkstemp(path);

	assert_int_equal(write(fd, "12345", 5), 5);
	close(fd);
	snprintf(want, sizeof(want), "{\"command\":\"trim\",\"file\":\"%s\",\"bytes\":5}\n", path);
	assert_string_equal(print_line(path, NULL), want);
	unlink(path);
}

TEST(counts_and_flags_follow)
{
	const struct written_count counts[] = { WRITTEN_COUNT("events", 7),
						WRITTEN_FLAG("stopped", 0),
						WRITTEN_FLAG("written", 2),
						{ 0 } };

	assert_string_equal(print_line("/dev/null", counts),
			    "{\"command\":\"trim\",\"file\":\"/dev/null\",\"bytes\":null,"
			    "\"events\":7,\"stopped\":false,\"written\":true}\n");
}

TEST(name_is_quoted)
{
	assert_string_equal(print_line("/no/\"such\"", NULL),
			    "{\"command\":\"trim\",\"file\":\"/no/\\\"such\\\"\","
			    "\"bytes\":null}\n");
}

TEST(result_on_standard_output_has_no_line)
{
	assert_string_equal(print_line(NULL, NULL), "");
}
