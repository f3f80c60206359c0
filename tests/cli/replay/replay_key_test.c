/*
 * Which keys are accepted, from a file and from the environment
 */
#include "cli/replay/replay_key.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "core/wire/log.h"
#include "tests/parent.h"

GROUP(make_parent, remove_parent);

static int be_silent(void **state)
{
	(void)state;
	log_silence(true);
	unsetenv("VERBATIM_REPLAY_KEY");
	return 0;
}

static int be_loud(void **state)
{
	(void)state;
	log_silence(false);
	return 0;
}

FIXTURE(be_silent, be_loud);

static const struct row {
	const char *name;
	size_t length; /* of a key of "k" */
	const char *tail;
	int mode, status;
	size_t given;
} rows[] = {
	{ "a_short_key_is_refused", REPLAY_KEY_LEAST - 1, "", 0600, CLI_USAGE, 0 },
	{ "the_shortest_key", REPLAY_KEY_LEAST, "", 0600, 0, REPLAY_KEY_LEAST },
	{ "blanks_at_the_end_do_not_count", REPLAY_KEY_LEAST - 1, " \t\r\n", 0600, CLI_USAGE, 0 },
	{ "blanks_at_the_end_are_left_out", 20, " \t\r\n", 0400, 0, 20 },
	{ "blanks_inside_are_of_the_key", 20, " k", 0600, 0, 22 },
	{ "the_longest_key", REPLAY_KEY_MOST - 1, "", 0600, 0, REPLAY_KEY_MOST - 1 },
	{ "a_long_key_is_refused", REPLAY_KEY_MOST, "", 0600, CLI_USAGE, 0 },
	{ "an_empty_file_is_refused", 0, "", 0600, CLI_USAGE, 0 },
	{ "a_group_may_not_read_it", 20, "", 0640, CLI_USAGE, 0 },
	{ "a_group_may_not_write_it", 20, "", 0620, CLI_USAGE, 0 },
	{ "others_may_not_read_it", 20, "", 0604, CLI_USAGE, 0 },
	{ "others_may_not_execute_it", 20, "", 0601, CLI_USAGE, 0 },
};

static void make_key(const struct row *row, char text[REPLAY_KEY_MOST + 8])
{
	memset(text, 'k', row->length);
	strcpy(text + row->length, row->tail);
}

static void file_is_as_expected(void **state)
{
	const struct row *row = *state;
	char text[REPLAY_KEY_MOST + 8], key[REPLAY_KEY_MOST], path[64];
	size_t length = 77;
	int fd;

	make_key(row, text);
	snprintf(path, sizeof(path), "%s/key", parent);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	fchmod(fd, (mode_t)row->mode);
	close(fd);
	log_silence(true);
	assert_int_equal(replay_key_read(path, key, &length), row->status);
	log_silence(false);
	unlink(path);
	if (!row->status) {
		assert_int_equal(length, row->given);
		assert_memory_equal(key, text, length);
	}
}
TEST_ROWS(rows, file_is_as_expected);

TEST(a_variable_has_the_same_limits)
{
	char text[REPLAY_KEY_MOST + 8], key[REPLAY_KEY_MOST];
	size_t length;

	for (size_t i = 0; i < 8; i++) {
		make_key(&rows[i], text);
		setenv("VERBATIM_REPLAY_KEY", text, 1);
		assert_int_equal(replay_key_read(NULL, key, &length), rows[i].status);
		if (!rows[i].status) {
			assert_int_equal(length, rows[i].given);
			assert_memory_equal(key, text, length);
		}
	}
}

TEST(a_file_comes_before_the_variable)
{
	char key[REPLAY_KEY_MOST];
	size_t length;

	setenv("VERBATIM_REPLAY_KEY", "a key that is long enough", 1);
	assert_int_equal(replay_key_read("/nonexistent/key", key, &length), CLI_ENVIRONMENT);
	assert_int_equal(replay_key_read("/tmp", key, &length), CLI_USAGE);
}

TEST(there_must_be_one)
{
	char key[REPLAY_KEY_MOST];
	size_t length;

	assert_int_equal(replay_key_read(NULL, key, &length), CLI_USAGE);
	setenv("VERBATIM_REPLAY_KEY", "", 1);
	assert_int_equal(replay_key_read(NULL, key, &length), CLI_USAGE);
}
