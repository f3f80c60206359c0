#pragma once
/*
 * Expected output in a file beside the test that has its name and ends in .txt
 *
 * With UPDATE=1 in the environment a test writes that file instead of comparing it: read the
 * difference before committing it. Addresses of this program, which differ in each run, are shown
 * as POINTER, and what differs between machines by its name.
 */
#include <ctype.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "core/base/text.h"
#include "tests/test.h"

/* The length of a number at @at that is an address of this program; 0: it is none. */
static inline size_t transcript_address(const char *at)
{
	size_t hex = !strncmp(at, "0x", 2) ? 2 + strspn(at + 2, "0123456789abcdef") : 0;
	size_t n = strspn(at, "0123456789");

	if (hex >= 2 + 11)
		return hex;
	return n >= 14 && n <= 16 ? n : 0;
}

/* If @name is next, a word of its own: what is shown instead. Returns its length, or 0. */
static inline size_t transcript_replace(struct text *text, const char *at, const char *name,
					const char *shown)
{
	size_t n = strlen(name);

	if (!n || strncmp(at, name, n) != 0 || isalnum((unsigned char)at[n]))
		return 0;
	text_addf(text, "%s", shown);
	return n;
}

/* The same for what differs between runs and machines. */
static inline size_t transcript_replace_any(struct text *text, const char *at)
{
	static struct utsname system;
	const char *names[][2] = { { system.nodename, "HOST" },
				   { system.release, "KERNEL" },
				   { system.machine, "MACHINE" } };
	size_t n = transcript_address(at);

	if (!system.nodename[0])
		uname(&system);
	if (n)
		text_addf(text, "POINTER");
	if (!strncmp(at, "db, ", 4) && isdigit((unsigned char)at[4])) {
		text_addf(text, "db, SIZE"); /* of a trace */
		return strcspn(at, "\n");
	}
	for (size_t i = 0; !n && i < sizeof(names) / sizeof(*names); i++)
		n = transcript_replace(text, at, names[i][0], names[i][1]);
	return n;
}

/* Append what the command printed. */
static inline void transcript_clean(struct text *text, const char *from)
{
	bool in_word = false;

	for (size_t n; *from; from += n) {
		n = in_word ? 0 : transcript_replace_any(text, from);
		if (!n)
			text_char(text, from[n++]);
		in_word = isalnum((unsigned char)from[n - 1]);
	}
}

/* Compare line by line, and name the first difference. */
static inline void transcript_compare(const char *text, const char *wanted)
{
	int line = 1;

	while (*text && *wanted) {
		size_t a = strcspn(text, "\n"), b = strcspn(wanted, "\n");

		if (a != b || memcmp(text, wanted, a))
			fail_msg("line %d is '%.*s', not '%.*s'", line, (int)a, text, (int)b,
				 wanted);
		text += a + (text[a] != '\0');
		wanted += b + (wanted[b] != '\0');
		line++;
	}
	assert_string_equal(text, wanted);
}

/* The expected output of the test with this source, to be freed. */
static inline char *transcript_read(const char *source)
{
	char path[256], *wanted;
	FILE *file;
	long n;

	snprintf(path, sizeof(path), "%.*s.txt", (int)strlen(source) - 2, source);
	file = fopen(path, "r");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	n = ftell(file);
	rewind(file);
	wanted = calloc(1, (size_t)n + 1);
	assert_int_equal(fread(wanted, 1, (size_t)n, file), n);
	fclose(file);
	return wanted;
}

static inline void transcript_check(const char *source, const char *text, const char *wanted)
{
	char path[256];
	FILE *file;

	if (!getenv("UPDATE")) {
		transcript_compare(text, wanted);
		return;
	}
	snprintf(path, sizeof(path), "%.*s.txt", (int)strlen(source) - 2, source);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* Is @text, which is freed, as in the file of the test? */
static inline void transcript_expect(const char *source, struct text *text)
{
	char *wanted = transcript_read(source);
	struct text shown = { 0 };

	transcript_clean(&shown, text->at ?: "");
	transcript_check(source, shown.at ?: "", wanted);
	text_fini(&shown);
	text_fini(text);
	free(wanted);
}
