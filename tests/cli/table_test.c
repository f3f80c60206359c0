/*
 * Tables as text and as JSON
 */
#include "cli/table.h"

#include <signal.h>
#include <unistd.h>

#include "core/base/style.h"
#include "tests/test.h"

static const struct column columns[] = {
	{ "name", COLUMN_TEXT },     { "id", COLUMN_NUMBER },    { "calls", COLUMN_COUNT },
	{ "size", COLUMN_BYTES },    { "mean_ns", COLUMN_TIME }, { "errors", COLUMN_COUNT },
	{ "status", COLUMN_STATUS }, { NULL, COLUMN_TEXT },
};

static struct table *table;

static int make_table(void **state)
{
	(void)state;
	table = table_new("control verbs", columns);
	return 0;
}

static int free_table(void **state)
{
	(void)state;
	table_free(table);
	style_enable(false);
	return 0;
}

FIXTURE(make_table, free_table);

static void print_within_60(const struct table *of)
{
	table_print_within(of, 60);
}

static void print_within_64(const struct table *of)
{
	table_print_within(of, 64);
}

static const char *print_with(void (*print)(const struct table *))
{
	static char text[4096];
	int before = dup(STDOUT_FILENO);
	FILE *file = tmpfile();
	size_t n;

	assert_non_null(file);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	print(table);
	fflush(stdout);
	dup2(before, STDOUT_FILENO);
	close(before);
	rewind(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	return text;
}

static void add_row(const char *name, int64_t id, int64_t calls, int64_t ns, int64_t errors)
{
	table_text(table, name);
	table_number(table, id);
	table_number(table, calls);
	table_number(table, calls * 1024);
	table_number(table, ns);
	table_number(table, errors);
}

static void add_rows(void)
{
	add_row("ibv_reg_mr", 7, 12345, 1500, 0);
	table_number(table, 3 << 8);
	add_row("caf\u00e9\033", 1234, 1, -1, 20);
	table_number(table, SIGKILL);
	add_row(NULL, 0, 0, 0, 0);
	table_text(table, NULL);
}

TEST(nothing_is_printed_of_no_rows)
{
	assert_string_equal(print_with(table_print), "");
	assert_string_equal(print_with(table_print_json), "  \"control_verbs\": []");
}

TEST(texts_are_left_and_numbers_right)
{
	add_rows();
	assert_string_equal(print_with(table_print),
			    "\n"
			    "control verbs\n"
			    "  name          id   calls      size     mean  errors  status\n"
			    "  ibv_reg_mr     7  12,345  12.1 MiB  1.50 us       0  exit 3\n"
			    "  caf\u00e9\\x1b    1234       1     1 KiB        -      20  SIGKILL\n"
			    "  -              0       0       0 B     0 ns       0  -\n");
}

TEST(a_table_that_is_too_wide_is_compact)
{
	add_rows();
	assert_string_equal(print_with(print_within_60),
			    "\n"
			    "control verbs\n"
			    "  name         id  calls     size    mean errors status\n"
			    "  ibv_reg_mr    7 12,345 12.1 MiB 1.50 us      0 exit 3\n"
			    "  caf\u00e9\\x1b   1234      1    1 KiB       -     20 SIGKILL\n"
			    "  -             0      0      0 B    0 ns      0 -\n");
	assert_non_null(strstr(print_with(print_within_64), "  name          id   calls  "));
}

TEST(json_has_the_values)
{
	add_rows();
	assert_string_equal(
		print_with(table_print_json),
		"  \"control_verbs\": [\n"
		"    {\"name\": \"ibv_reg_mr\", \"id\": 7, \"calls\": 12345, \"size\": "
		"12641280, \"mean_ns\": 1500, \"errors\": 0, \"status\": \"exit 3\"},\n"
		"    {\"name\": \"caf\u00e9\\u001b\", \"id\": 1234, \"calls\": 1, \"size\": "
		"1024, \"mean_ns\": null, \"errors\": 20, \"status\": \"SIGKILL\"},\n"
		"    {\"name\": null, \"id\": 0, \"calls\": 0, \"size\": 0, \"mean_ns\": 0, "
		"\"errors\": 0, \"status\": null}\n"
		"  ]");
}

/* An error count that is not 0, and a status that is not 0. */
TEST(bad_news_are_in_colour)
{
	char bad[64];

	add_row("a", 1, 2, 3, 20);
	table_number(table, 0);
	add_row("b", 1, 2, 3, 0);
	table_number(table, 1 << 8);
	style_enable(true);
	snprintf(bad, sizeof(bad), "%s20%s", style_sequence(STYLE_ERROR),
		 style_sequence(STYLE_PLAIN));
	assert_non_null(strstr(print_with(table_print), bad));
	snprintf(bad, sizeof(bad), "%sexit 1%s", style_sequence(STYLE_ERROR),
		 style_sequence(STYLE_PLAIN));
	assert_non_null(strstr(print_with(table_print), bad));
	snprintf(bad, sizeof(bad), "%sexit 0", style_sequence(STYLE_ERROR));
	assert_null(strstr(print_with(table_print), bad));
	snprintf(bad, sizeof(bad), "%s2%s", style_sequence(STYLE_ERROR),
		 style_sequence(STYLE_PLAIN));
	assert_null(strstr(print_with(table_print), bad));
}
