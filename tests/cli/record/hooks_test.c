/*
 * Commands that are run at failures
 */
#include "cli/record/hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/test.h"

static char dir[64], command[512], path[96];
static struct hooks *hooks;

static int begin_hooks(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/verbatim-hooks-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/out", dir);
	return hooks_new(&hooks);
}

static int end_hooks(void **state)
{
	(void)state;
	hooks_free(hooks);
	unlink(path);
	return rmdir(dir);
}

FIXTURE(begin_hooks, end_hooks);

static const struct hook_fact facts[] = {
	{ "kind", "verb", 0 }, { "text", "a\"$(x);", 0 }, { "number", NULL, 17 }, { 0 }
};

static void read_out(char text[256])
{
	FILE *file;

	while (access(path, F_OK))
		usleep(1000);
	file = fopen(path, "r");
	assert_non_null(file);
	text[fread(text, 1, 255, file)] = '\0';
	fclose(file);
}

TEST(command_gets_the_facts)
{
	char text[256];

	snprintf(command, sizeof(command),
		 "(cat; echo \"$VERBATIM_NUMBER $VERBATIM_TEXT\") "
		 ">%s.new; mv %s.new %s",
		 path, path, path);
	assert_true(hooks_fire(hooks, command, "verb x", facts));
	read_out(text);
	assert_string_equal(text, "{\"kind\":\"verb\",\"text\":\"a\\\"$(x);\",\"number\":17}\n"
				  "17 a\"$(x);\n");
}

TEST(kind_is_fired_once_a_minute)
{
	assert_true(hooks_fire(hooks, NULL, "verb a", facts));
	assert_false(hooks_fire(hooks, NULL, "verb a", facts));
	assert_true(hooks_fire(hooks, NULL, "verb b", facts));
	assert_false(hooks_fire(hooks, NULL, "verb b", facts));
}

/* The oldest are forgotten: memory is bounded. */
TEST(kinds_without_end_are_bounded)
{
	char kind[32];

	for (int i = 0; i < 10 * HOOKS_KINDS; i++) {
		snprintf(kind, sizeof(kind), "kind %d", i);
		assert_true(hooks_fire(hooks, NULL, kind, facts));
	}
	assert_false(hooks_fire(hooks, NULL, kind, facts));
}
