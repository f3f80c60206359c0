/*
 * One line to stderr for a failure
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/wire/log.h"
#include "tests/test.h"

typedef int log_function(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The output of @log about @name. */
static void read_line_of(log_function *log, const char *name, char *line, size_t size)
{
	int ends[2], stderr_fd = dup(STDERR_FILENO);
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	assert_int_equal(log(-ENOENT, "open %s", name), -ENOENT);
	dup2(stderr_fd, STDERR_FILENO);
	n = read(ends[0], line, size - 1);
	line[n > 0 ? n : 0] = '\0';
	close(stderr_fd);
	close(ends[0]);
	close(ends[1]);
}

static void read_line(const char *name, char *line, size_t size)
{
	read_line_of(log_err, name, line, size);
}

TEST(a_message_with_its_reason_has_no_other)
{
	char line[4096];

	read_line_of(log_why, "a.db", line, sizeof(line));
	assert_string_equal(line, "verbatim: open a.db\n");
}

TEST(a_failure_is_one_line)
{
	char line[4096];

	read_line("a.db", line, sizeof(line));
	assert_string_equal(line, "verbatim: open a.db: No such file or directory\n");
}

TEST(names_reach_no_terminal_raw)
{
	char line[4096];

	read_line("\033]0;x\a\n\xc2\x9b\xff", line, sizeof(line));
	assert_string_equal(line, "verbatim: open \\x1b]0;x\\x07\\x0a\\u{009b}\\xff: "
				  "No such file or directory\n");
}

TEST(a_long_name_is_cut)
{
	char name[5000], line[8192];

	memset(name, '\033', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	read_line(name, line, sizeof(line));
	assert_true(strlen(line) < 4200);
	assert_string_equal(line + strlen(line) - 5, "\\x1b\n");
}
