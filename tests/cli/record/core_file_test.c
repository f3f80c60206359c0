/* Cores of a stopped process, by a gcore of our own: a script in the first folder of PATH. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/record/core_file.h"
#include "core/base/read_file.h"
#include "tests/test.h"

enum { PID = 4321 };

static char dir[128], prefix[160], said[160];

static void write_gcore(const char *script)
{
	char path[160];
	FILE *file;

	snprintf(path, sizeof(path), "%s/gcore", dir);
	file = fopen(path, "we");
	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", script);
	fclose(file);
	assert_int_equal(chmod(path, 0700), 0);
}

static int make_folder(void **state)
{
	const char *parent = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%s/core_file_test-XXXXXX", parent ? parent : "/tmp");
	assert_non_null(mkdtemp(dir));
	snprintf(prefix, sizeof(prefix), "%s/core", dir);
	snprintf(said, sizeof(said), "%s/said", dir);
	setenv("PATH", dir, 1);
	return 0;
}

/* The folder must be empty. */
static int remove_folder(void **state)
{
	static const char *const names[] = { "gcore", "said", "core.4321", "core.4321.1" };
	char path[200];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	return rmdir(dir);
}

/* What is reported of a core by this script. */
static char *write_core(const char *script, struct core_file *core)
{
	int saved = dup(STDERR_FILENO), fd = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	char *text = NULL;
	size_t n;

	write_gcore(script);
	*core = (struct core_file){ .what = "stopped" };
	assert_int_equal(core_begin(core, prefix, PID), 0);
	assert_true(core->writer > 0);
	assert_true(core_has_ended(core, true));
	assert_int_equal(core->writer, 0);
	dup2(fd, STDERR_FILENO);
	core_report(core);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(fd);
	assert_int_equal(read_file(said, &text, &n), 0);
	return text;
}

/* Frees the text. */
static void has_words(char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("no '%s' in: %s", words, text);
	free(text);
}

static void has_text(const char *path, const char *wanted)
{
	char *text = NULL;
	size_t n;

	assert_int_equal(read_file(path, &text, &n), 0);
	assert_string_equal(text, wanted);
	free(text);
}

FIXTURE(make_folder, remove_folder);

TEST(a_core_has_the_pid_in_its_name_and_is_private)
{
	struct core_file core;
	char *text = write_core("printf memory >\"$2.$3\"", &core), words[300];
	struct stat st;

	snprintf(words, sizeof(words), "stopped: core file %s.4321; pid 4321 continues", prefix);
	has_words(text, words);
	has_text(core.path, "memory");
	assert_int_equal(stat(core.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

TEST(an_older_core_is_not_overwritten)
{
	struct core_file core;
	char first[sizeof(core.path)], second[sizeof(first) + 2];

	free(write_core("printf first >\"$2.$3\"", &core));
	memcpy(first, core.path, sizeof(first));
	free(write_core("printf second >\"$2.$3\"", &core));
	snprintf(second, sizeof(second), "%s.1", first);
	assert_string_equal(core.path, second);
	has_text(first, "first");
	has_text(second, "second");
}

TEST(a_failure_is_reported_with_its_last_line)
{
	struct core_file core;
	char *text = write_core("echo attaching; echo cannot attach >&2; exit 1", &core);

	has_words(text,
		  "stopped: no core file could be written (cannot attach); pid 4321 continues");
}

TEST(a_core_that_was_not_written_is_reported)
{
	struct core_file core;
	char *text = write_core("echo nothing to write", &core);

	has_words(text, "no core file could be written (nothing to write); pid 4321 continues");
}

TEST(a_long_output_is_shortened_to_its_end)
{
	struct core_file core;
	char *text = write_core("i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i + 1)); done; "
				"exit 1",
				&core);

	has_words(text, "could be written (line 99); pid");
}

/* With the variables, gcore would be recorded like a child of the program. */
TEST(gcore_does_not_get_our_variables)
{
	struct core_file core;
	char *text;

	setenv("VERBATIM_SESSION", "1", 1);
	setenv("LD_LIBRARY_PATH", "1", 1);
	setenv("OTHER", "kept", 1);
	text = write_core("echo \"${VERBATIM_SESSION-}${LD_LIBRARY_PATH-}$OTHER\"; exit 1", &core);
	unsetenv("VERBATIM_SESSION");
	unsetenv("LD_LIBRARY_PATH");
	has_words(text, "could be written (kept); pid");
}

TEST(gcore_is_needed)
{
	struct core_file core = { 0 };

	assert_int_equal(core_begin(&core, prefix, PID), -ENOENT);
	assert_int_equal(core.writer, 0);
}
