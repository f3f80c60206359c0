#pragma once
/*
 * Commands on recordings of tests/conformance, at "at/". Their outputs are long, so a transcript
 * has the number of their lines and their digest. If one differs, run that command of two builds,
 * and compare.
 *
 * Files that a command writes are in the folder in which all of them run.
 */
#include "tests/cli/run.h"

/* Recordings at "at/", whose folder this is. */
static inline int digests_begin(void **state)
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

static inline unsigned int digests_lines(const struct text *text)
{
	unsigned int n = 0;

	for (size_t i = 0; i < text->used; i++)
		n += text->at[i] == '\n';
	return n;
}

static inline uint32_t digests_of(const struct text *text)
{
	uint32_t hash = 0x811c9dc5;

	for (size_t i = 0; i < text->used; i++)
		hash = (hash ^ (unsigned char)text->at[i]) * 0x1000193;
	return hash;
}

/* Run the commands of the transcript of @source again. */
static inline void digests_compare(const char *source)
{
	char *wanted = transcript_read(source), command[512];
	struct text all = { 0 };

	for (char *at = strstr(wanted, "$ "); at; at = strstr(at, "\n$ ")) {
		struct text out = { 0 };

		at += *at == '\n' ? 3 : 2;
		snprintf(command, sizeof(command), "%.*s", (int)strcspn(at, "\n"), at);
		run_command(&out, command);
		text_addf(&all, "$ %s\n%u lines, %08x\n", command, digests_lines(&out),
			  digests_of(&out));
		text_fini(&out);
	}
	transcript_check(source, all.at, wanted);
	text_fini(&all);
	free(wanted);
}
