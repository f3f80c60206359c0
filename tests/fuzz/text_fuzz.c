/*
 * Texts and small files of others to their readers; the first byte says which
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

static void read_filter(const char *text)
{
	struct session_filter filter;
	char complaint[256];

	filter_read(text, &filter, complaint);
}

static void read_size(const char *text)
{
	size_parse(text);
}

static void read_json(const char *text)
{
	struct args *args = args_new(text, strlen(text));

	args_text(args, "a.b[3].c");
	args_unref(args);
}

static void write_json(const char *text)
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
}

static void read_question(const char *text)
{
	struct question question;
	char complaint[QUESTION_COMPLAINT];

	question_read(text, &question, complaint);
}

static void read_elf(const uint8_t *bytes, size_t n)
{
	struct elf elf;
	char path[PATH_MAX];
	const char *needed;

	if (elf_open(inside_file(bytes, n), &elf))
		return;
	for (unsigned int i = 0; i < 64 && (needed = elf_needed(&elf, i)); i++)
		elf_find(&elf, needed, path);
	elf_mentions(&elf, "dlopen");
	elf_close(&elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static void (*const readers[])(const char *) = { read_filter, read_size, read_json,
							 write_json, read_question };
	enum { READERS = sizeof(readers) / sizeof(*readers) };
	char address[SOCKADDR_TEXT], *text;
	unsigned int which = n ? *bytes % (READERS + 2) : 0;

	if (!n)
		return 0;
	if (which == READERS) {
		sockaddr_text(bytes + 1, n - 1, address);
	} else if (which > READERS) {
		read_elf(bytes + 1, n - 1);
	} else {
		text = strndup((const char *)bytes + 1, n - 1);
		readers[which](text);
		free(text);
	}
	return 0;
}
