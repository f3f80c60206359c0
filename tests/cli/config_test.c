/*
 * The user's defaults for options
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/config.h"
#include "tests/test.h"

static char dir[] = "/tmp/config-XXXXXX", path[64];
static char complaint[CONFIG_COMPLAINT];
static struct config *config;

static int make_folder(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/config-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/config", dir);
	setenv("VERBATIM_CONFIG", path, 1);
	unsetenv("XDG_CONFIG_HOME");
	return 0;
}

static int remove_folder(void **state)
{
	char command[96];

	(void)state;
	config_close(config);
	config = NULL;
	unsetenv("VERBATIM_CONFIG");
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

FIXTURE(make_folder, remove_folder);

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int read_text(const char *text)
{
	write_file(path, text);
	config_close(config);
	return config_open(command_find("check"), complaint, &config);
}

TEST(lines_of_the_command_come_after_those_of_all)
{
	const struct option_default *line;

	assert_int_equal(read_text("# mine\n\n color = never \r\n; or\n[dump]\nstacks=yes\n"
				   "[check]\n--mute = LIFE-001,  LIFE-002\nfail-on="),
			 0);
	line = config_defaults(config);
	assert_string_equal(line->name, "color");
	assert_string_equal(line->value, "never");
	assert_string_equal(line->path, path);
	assert_int_equal(line->line, 3);
	assert_string_equal(line[1].name, "mute");
	assert_string_equal(line[1].value, "LIFE-001,  LIFE-002");
	assert_int_equal(line[1].line, 8);
	assert_string_equal(line[2].value, "");
	assert_null(line[3].name);
}

TEST(option_that_only_others_have_is_left_to_them)
{
	assert_int_equal(read_text("stacks = yes\n"), 0);
	assert_null(config_defaults(config));
}

static const struct wrong {
	const char *text, *says;
} wrong[] = {
	{ "color = never\ncolour = never\n", ":2: no command: it has no option 'colour' (did you" },
	{ "[check]\nfail-no = error\n",
	  ":2: check has no option 'fail-no' (did you mean 'fail-on'?" },
	{ "[check]\nstacks = yes\n", ":2: check has no option 'stacks'" },
	{ "[chekc]\n", ":1: there is no command 'chekc' (did you mean 'check'?)" },
	{ "[check\n", ":1: ']' is missing after '[check'" },
	{ "\n\nquiet\n", ":3: 'quiet' is not a line 'OPTION = VALUE' or '[COMMAND]'" },
	{ "= 3\n", ":1: no command" },
	{ "[]\n", ":1: there is no command ''" },
};

TEST(wrong_line_is_refused_with_its_number)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(read_text(wrong[i].text), -EINVAL);
		assert_null(config);
		assert_memory_equal(complaint, path, strlen(path));
		assert_non_null(strstr(complaint, wrong[i].says));
	}
}

TEST(named_file_must_exist_and_an_empty_name_is_none)
{
	assert_int_equal(config_open(command_find("check"), complaint, &config), -ENOENT);
	assert_non_null(strstr(complaint, path));
	setenv("VERBATIM_CONFIG", "", 1);
	assert_int_equal(config_open(command_find("check"), complaint, &config), 0);
	assert_null(config);
}

TEST(file_is_in_the_folder_of_configurations)
{
	char folder[96], file[128];

	unsetenv("VERBATIM_CONFIG");
	setenv("HOME", dir, 1);
	assert_int_equal(config_open(command_find("check"), complaint, &config), 0);
	assert_null(config);
	snprintf(folder, sizeof(folder), "%s/.config", dir);
	assert_int_equal(mkdir(folder, 0700), 0);
	snprintf(folder, sizeof(folder), "%s/.config/verbatim", dir);
	assert_int_equal(mkdir(folder, 0700), 0);
	snprintf(file, sizeof(file), "%s/config", folder);
	write_file(file, "color = never\n");
	assert_int_equal(config_open(command_find("check"), complaint, &config), 0);
	assert_string_equal(config_path(config), file);
	config_close(config);
	setenv("XDG_CONFIG_HOME", "relative", 1);
	assert_int_equal(config_open(command_find("check"), complaint, &config), 0);
	assert_string_equal(config_path(config), file);
	config_close(config);
	setenv("XDG_CONFIG_HOME", folder, 1);
	assert_int_equal(config_open(command_find("check"), complaint, &config), 0);
	assert_null(config);
}
