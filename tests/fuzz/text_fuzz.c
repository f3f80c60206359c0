/*
 * Untrusted texts and small files to their readers; the first byte selects the reader
 */
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/elf.h"
#include "cli/query/question.h"
#include "cli/record/filter.h"
#include "core/store/db/sockaddr.h"
#include "core/base/text.h"
#include "core/store/read/trace.h"
#include "core/wire/payload.h"
#include "core/base/size.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/inside.h"
#include "tests/fuzz/seeds.h"

/* Each returns whether the text is accepted. */

static bool read_filter(const char *text)
{
	struct session_filter filter;
	char complaint[OPTIONS_COMPLAINT];

	return !filter_read(text, &filter, complaint);
}

static bool read_size(const char *text)
{
	return size_parse(text) != 0;
}

static bool read_json(const char *text)
{
	struct args *args = args_new(text, strlen(text));
	bool good = args_root(args);

	args_text_at(args, ARG(entries.gid.raw), 3);
	args_unref(args);
	return good;
}

static bool write_json(const char *text)
{
	struct text out = { 0 };
	struct args *args;

	text_char(&out, '[');
	text_json(&out, text, strlen(text));
	text_char(&out, ']');
	args = args_new(out.at, out.used);
	if (!args_root(args))
		abort();
	args_unref(args);
	text_fini(&out);
	return true;
}

static bool read_question(const char *text)
{
	struct question question;
	char complaint[QUESTION_COMPLAINT];

	return !question_read(text, &question, complaint);
}

static bool read_elf(const uint8_t *bytes, size_t n)
{
	struct elf elf;
	char path[PATH_MAX];
	const char *needed;

	if (elf_open(inside_file(bytes, n), &elf))
		return false;
	for (unsigned int i = 0; i < 64 && (needed = elf_find_needed(&elf, i)); i++)
		elf_find(&elf, needed, path);
	elf_mentions(&elf, "dlopen");
	elf_close(&elf);
	return true;
}

static bool read_input(const uint8_t *bytes, size_t n)
{
	static bool (*const readers[])(const char *) = { read_filter, read_size, read_json,
							 write_json, read_question };
	enum { READERS = sizeof(readers) / sizeof(*readers) };
	char address[SOCKADDR_TEXT], *text;
	unsigned int which = *bytes % (READERS + 2);
	bool good = true;

	if (which == READERS) {
		sockaddr_text(bytes + 1, n - 1, address);
	} else if (which > READERS) {
		good = read_elf(bytes + 1, n - 1);
	} else {
		text = strndup((const char *)bytes + 1, n - 1);
		good = readers[which](text);
		free(text);
	}
	return good;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	seeds_check("text", read_input);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	if (n)
		read_input(bytes, n);
	return 0;
}
