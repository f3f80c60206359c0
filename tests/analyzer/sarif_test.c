/*
 * Parts of a SARIF log: places below the current directory, elsewhere and in modules
 */
#include "analyzer/report/sarif.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/base/text.h"
#include "tests/test.h"

struct row {
	const char *name, *root;
	struct sarif_place place;
	const char *message, *expected;
};

#define IN_SOURCE ",\"uriBaseId\":\"SRCROOT\"}"
#define PHYSICAL  "{\"physicalLocation\":{\"artifactLocation\":{\"uri\":"
#define LOGICAL   "\"logicalLocations\":[{\"fullyQualifiedName\":\"f\",\"kind\":\"function\"}]"

/* clang-format off */
static const struct row rows[] = {
	{ "below", "/src/", { .path = "/src/a b.c", .line = 7 }, NULL,
	  PHYSICAL "\"a%20b.c\"" IN_SOURCE ",\"region\":{\"startLine\":7}}}" },
	{ "no line", "/src/", { .path = "/src/a.c" }, NULL, PHYSICAL "\"a.c\"" IN_SOURCE "}}" },
	{ "first line", "/src/", { .path = "/src/a.c", .line = 1 }, NULL,
	  PHYSICAL "\"a.c\"" IN_SOURCE ",\"region\":{\"startLine\":1}}}" },
	{ "elsewhere", "/src/", { .path = "/srcs/a.c", .line = 7, .function = "f" }, NULL,
	  PHYSICAL "\"file:///srcs/a.c\"},\"region\":{\"startLine\":7}}," LOGICAL "}" },
	{ "relative", "/src/", { .path = "././x/./a.c" }, NULL,
	  PHYSICAL "\"x/./a.c\"" IN_SOURCE "}}" },
	{ "relative, below", "/src/", { .path = "/src/./a.c" }, NULL,
	  PHYSICAL "\"a.c\"" IN_SOURCE "}}" },
	{ "no root", "", { .path = "/src/a.c" }, NULL, PHYSICAL "\"file:///src/a.c\"}}}" },
	{ "in a module", "/src/", { .module = "/lib/libx.so", .offset = 4096, .line = 7 }, "here",
	  PHYSICAL "\"file:///lib/libx.so\"},\"address\":{\"kind\":\"instruction\","
	  "\"relativeAddress\":4096}},\"message\":{\"text\":\"here\"}}" },
	{ "all bytes", "/", { .path = "/09azAZ-._~/ :@[`{\177\303\244" }, NULL,
	  PHYSICAL "\"09azAZ-._~/%20%3A%40%5B%60%7B%7F%C3%A4\"" IN_SOURCE "}}" },
	{ "function only", "/src/", { .function = "f" }, "m",
	  "{" LOGICAL ",\"message\":{\"text\":\"m\"}}" },
	{ "nothing", "/src/", { .line = 7 }, NULL, "{}" },
};
/* clang-format on */

static void place_is_written(void **state)
{
	const struct row *row = *state;
	struct text text = { 0 };
	struct json json = { .out = &text };

	sarif_location(&json, row->root, NULL, &row->place, row->message);
	assert_string_equal(text.at, row->expected);
	text_fini(&text);
}

TEST_ROWS(rows, place_is_written);

/* The root of a log that is begun in @folder. */
static void expect_root(const char *folder, const char *expected)
{
	int here = open(".", O_RDONLY | O_DIRECTORY);
	struct text text = { 0 };
	struct json json = { .out = &text };
	char root[PATH_MAX], wanted[512];

	assert_int_equal(chdir(folder), 0);
	sarif_begin(&json, root);
	assert_int_equal(fchdir(here), 0);
	close(here);
	assert_string_equal(root, expected);
	sarif_put_root(&json, root);
	json_close(&json, '}');
	snprintf(wanted, sizeof(wanted),
		 "{\"$schema\":\"%s\",\"version\":\"2.1.0\","
		 "\"originalUriBaseIds\":{\"SRCROOT\":{\"uri\":\"file://%s\","
		 "\"description\":{\"text\":\"%s\"}}}}",
		 "https://json.schemastore.org/sarif-2.1.0.json", expected,
		 "the current directory of verbatim");
	assert_string_equal(text.at, wanted);
	text_fini(&text);
}

TEST(the_root_ends_with_a_slash)
{
	expect_root("/", "/");
	expect_root("/usr", "/usr/");
}

TEST(no_root_has_no_uri)
{
	struct text text = { 0 };
	struct json json = { .out = &text };

	json_open(&json, NULL, '{');
	sarif_put_root(&json, "");
	sarif_message(&json, "none", NULL);
	json_close(&json, '}');
	assert_string_equal(text.at,
			    "{\"originalUriBaseIds\":{\"SRCROOT\":{\"description\":{\"text\":"
			    "\"the current directory of verbatim\"}}},\"none\":{\"text\":"
			    "\"\"}}");
	text_fini(&text);
}
