/*
 * What is replaced while recording
 */
#include "core/store/anonymise/redact.h"

#include <stdio.h>
#include <sys/utsname.h>

#include "core/base/text.h"
#include "tests/test.h"

enum { NONE = 0, ALL = REDACT_ARGV | REDACT_ENV | REDACT_HOST | REDACT_PATHS };

static const struct {
	uint32_t what;
	enum writer_text kind;
	const char *from, *to; /* the same: it stays */
} rows[] = {
	{ REDACT_ARGV, WRITER_COMMAND, "/home/me/app  -n /home", "/home/me/app  arg1 arg2" },
	{ REDACT_PATHS, WRITER_COMMAND, "/home/me/app -n /home/you",
	  "/home/name1/name2 -n "
	  "/home/name3" },
	{ ALL, WRITER_COMMAND, "/home/me/app -n", "/home/name1/name2 arg1" },
	{ REDACT_ENV, WRITER_COMMAND, "/home/me/app -n", "/home/me/app -n" },
	{ REDACT_PATHS, WRITER_PATH, "/home/me/libc.so.6", "/home/name1/libc.so.6" },
	{ ALL & ~REDACT_PATHS, WRITER_PATH, "/home/me/app", "/home/me/app" },
	{ REDACT_ENV, WRITER_VARIABLE, "rc,ud", "value1" },
	{ REDACT_ENV, WRITER_VARIABLE, "yes", "yes" },
	{ REDACT_ENV, WRITER_VARIABLE, "17", "17" },
	{ REDACT_PATHS, WRITER_VARIABLE, "/etc/topo", "value1" },
	{ REDACT_PATHS, WRITER_VARIABLE, "rc,ud", "rc,ud" },
	{ REDACT_HOST, WRITER_HOST, "node7", "host1" },
	{ ALL & ~REDACT_HOST, WRITER_HOST, "node7", "node7" },
	{ REDACT_HOST, WRITER_ARGUMENTS, "{\"node\":\"node7\",\"service\":\"7471\"}",
	  "{\"node\":\"host1\",\"service\":\"7471\"}" },
	{ REDACT_HOST, WRITER_ARGUMENTS, "{\"node\":\"192.0.2.1\",\"x\":[1,\"ab\"]}",
	  "{\"node\":\"192.0.2.1\",\"x\":[1,\"ab\"]}" },
	{ ALL & ~REDACT_HOST, WRITER_ARGUMENTS, "{\"node\":\"node7\"}", "{\"node\":\"node7\"}" },
};

TEST(texts_are_replaced_as_asked)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct text to = { 0 };
		struct redact *redact;

		assert_int_equal(redact_new(rows[i].what, &redact), 0);
		if (redact_text(redact, rows[i].kind, rows[i].from, &to))
			assert_string_equal(to.at, rows[i].to);
		else
			assert_string_equal(rows[i].from, rows[i].to);
		text_fini(&to);
		redact_free(redact);
	}
}

TEST(name_of_this_host_is_replaced_in_other_texts)
{
	char command[256], longer[256];
	struct text to = { 0 }, kept = { 0 };
	struct redact *redact;
	struct utsname host;

	uname(&host);
	host.nodename[100] = '\0';
	snprintf(command, sizeof(command), "app --to=%s:5", host.nodename);
	snprintf(longer, sizeof(longer), "app --to=x%sx:5", host.nodename);
	assert_int_equal(redact_new(REDACT_HOST, &redact), 0);
	assert_true(redact_text(redact, WRITER_COMMAND, command, &to));
	assert_string_equal(to.at, "app arg1");
	assert_true(redact_text(redact, WRITER_COMMAND, longer, &kept));
	assert_string_equal(kept.at, longer);
	text_fini(&to);
	text_fini(&kept);
	redact_free(redact);
}
