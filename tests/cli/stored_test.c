/*
 * What commands print about recordings of tests/conformance: stored_test.txt
 *
 * An output is shown by its lines and its digest, since all of them are long. If one differs, run
 * that command of two builds, and compare; tests/e2e/stored.sh prints the difference, too, and asks
 * more of more recordings. Here a whole analysis takes milliseconds.
 */
#include "tests/cli/run.h"

/* Recordings at "at/", whose folder this is. */
static int begin_commands(void **state)
{
	char *traces = realpath("tests/conformance", NULL), path[sizeof(run_folder) + 16];
	int err;

	(void)state;
	snprintf(run_folder, sizeof(run_folder), "%s-XXXXXX", make_path("run"));
	if (!traces || !mkdtemp(run_folder))
		return -1;
	snprintf(path, sizeof(path), "%s/at", run_folder);
	err = symlink(traces, path);
	free(traces);
	return err;
}

static unsigned int count_lines(const struct text *text)
{
	unsigned int n = 0;

	for (size_t i = 0; i < text->used; i++)
		n += text->at[i] == '\n';
	return n;
}

static uint32_t digest_of(const struct text *text)
{
	uint32_t hash = 0x811c9dc5;

	for (size_t i = 0; i < text->used; i++)
		hash = (hash ^ (unsigned char)text->at[i]) * 0x1000193;
	return hash;
}

GROUP(begin_commands, run_end);

TEST(outputs_are_those_of_the_transcript)
{
	char *wanted = transcript_read(__FILE__), command[512];
	struct text all = { 0 };

	for (char *at = strstr(wanted, "$ "); at; at = strstr(at, "\n$ ")) {
		struct text out = { 0 };

		at += *at == '\n' ? 3 : 2;
		snprintf(command, sizeof(command), "%.*s", (int)strcspn(at, "\n"), at);
		run_command(&out, command);
		text_addf(&all, "$ %s\n%u lines, %08x\n", command, count_lines(&out),
			  digest_of(&out));
		text_fini(&out);
	}
	transcript_check(__FILE__, all.at, wanted);
	text_fini(&all);
	free(wanted);
}
