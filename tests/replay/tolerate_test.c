/* replay/report/tolerate.c: which lines are valid, and which divergences each of them matches. */
#include <errno.h>
#include <unistd.h>

#include "replay/report/tolerate.h"
#include "tests/transcript.h"

static const struct tolerate_query queries[] = {
	{ "ibv_poll_cq", "wc[0].status", { 2, 60 }, "qp1", 1 },
	{ "ibv_poll_cq", "wc[10].vendor_err", { 2, 99 }, "qp1", 2 },
	{ "ibv_post_send", "ret", { 2, 100 }, "qp12", 3 },
	{ "ibv_wr_send", "ret", { 3, 59 }, "", 0 },
	{ "rdma_connect", "a\\b", { 1, 1 }, "id1", 10 },
	{ "_mark", "", { 4294967295, UINT64_MAX }, "cq1", 4294967295 },
};

static char path[256];

static void write_lines(const char *lines)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(lines, file);
	assert_int_equal(fclose(file), 0);
}

static int set_path(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s/tolerate-%d", getenv("TMPDIR") ?: "/tmp", (int)getpid());
	return 0;
}

static int remove_file(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

FIXTURE(set_path, remove_file);

/* The complaint about @lines; or the line that each query matches, and all lines. */
static void print_file(struct text *to, const char *lines)
{
	char complaint[TOLERATE_COMPLAINT];
	struct tolerate *t = NULL;
	int err;

	write_lines(lines);
	err = tolerate_open(path, complaint, &t);
	text_addf(to, "%s%s", lines, lines[strlen(lines) - 1] == '\n' ? "" : "\n");
	if (err) {
		assert_null(t);
		assert_int_equal(strncmp(complaint, path, strlen(path)), 0);
		text_addf(to, "\t%s%s\n", strerror(-err), complaint + strlen(path));
		return;
	}
	assert_string_equal(tolerate_path(t), path);
	assert_string_equal(complaint, "");
	text_addf(to, "\t");
	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
		int found = tolerate_find(t, &queries[i]);

		text_addf(to, found < 0 ? "." : "%d", found);
	}
	for (size_t i = 0; tolerate_line(t, i); i++) {
		const struct tolerate_line *line = tolerate_line(t, i);

		text_addf(to, "%sline %u, %d times: %s", i ? ", " : " ", line->number,
			  (int)line->used, line->reason);
	}
	text_addf(to, "\n");
	tolerate_close(t);
}

TEST(lines_and_what_they_match)
{
	static const char *const files[] = {
		/* verbs */
		"* * * * any",
		"ibv_poll_cq * * * one",
		"poll_cq * * * the same",
		"ibv_post_send * * * another",
		"rdma_connect * * * of librdmacm",
		"rdma_get_remote_ece * * * the last verb",
		"connect * * * not a verb",
		"_mark * * * of ours",
		"ibv_nothing * * * not a verb",
		"ibv_noth* * * * of the future",
		"*send * * * two",
		"?bv_wr_send * * * one",
		"wr_* * * * without the prefix",
		/* fields */
		"* ret * * two",
		"* wc[0].status * * one",
		"* wc[1].status * * none",
		"* wc[*].status * * one",
		"* wc[??].* * * the other",
		"* a\\b * * literal",
		"* ab * * none",
		/* events */
		"* * 2:* * of a thread",
		"* * 2:60 * one",
		"* * 2:60-2:99 * both ends",
		"* * 2:61-2:100 * both ends",
		"* * 2:99-2:99 * one",
		"* * 4294967295:18446744073709551615 * the greatest",
		"* * 4294967296:1 * too great",
		"* * 1:18446744073709551616 * too great",
		"* * 2:100-2:99 * ends before it begins",
		"* * 2:60-3:99 * two threads",
		"* * 2:60-2:99x * more",
		"* * 2:60+2:99 * no range",
		"* * 2:60- * no end",
		"* * 2:60x * more",
		"* * 2:*x * more",
		"* * 2 * no number",
		"* * 2: * no number",
		"* * :2 * no thread",
		"* * 0:2 * no such thread",
		"* * 0:* * no such thread",
		"* * -1:2 * negative",
		"* * 2:-1 * negative",
		"* * x * no event",
		/* objects */
		"* * * qp1 two",
		"* * * qp* three",
		"* * * qp1/2 one",
		"* * * qp1/1 the other",
		"* * * */10 of a process",
		"* * * qp1/ no process",
		"* * * qp1/0 no such process",
		"* * * qp1/2x more",
		"* * * qp1/x no number",
		"* * * qp1/4294967296 too great",
		/* lines */
		"# * * * * a comment\n \t# another\n\n * \t*\t*  * \t any  reason\n",
		"* * 2:60 * the first\n* * 2:* * the second\n* * 3:59 * the third\n",
		"* * 2:60 * the first\n\n* * 2:60\n",
		"*",
		"* *",
		"* * *",
		"* * * *",
	};
	struct text shown = { 0 };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		print_file(&shown, files[i]);
	transcript_expect(__FILE__, &shown);
}

/* More than a pattern may have is matched by nothing. */
TEST(a_pattern_may_have_253_characters)
{
	struct tolerate_query query = { .verb = "", .object = "", .event = { 1, 1 } };
	char complaint[TOLERATE_COMPLAINT], field[300] = "", line[400];
	struct tolerate *t;

	for (size_t n = 252; n <= 256; n++) {
		memset(field, 'x', n);
		snprintf(line, sizeof(line), "* %s * * long", field);
		write_lines(line);
		assert_int_equal(tolerate_open(path, complaint, &t), 0);
		query.field = field;
		assert_int_equal(tolerate_find(t, &query), n <= 254 ? 0 : -1);
		tolerate_close(t);
	}
}

TEST(a_missing_file_is_named)
{
	char complaint[TOLERATE_COMPLAINT], wanted[TOLERATE_COMPLAINT + 64];
	struct tolerate *t = NULL;

	snprintf(wanted, sizeof(wanted), "read %s: No such file or directory", path);
	assert_int_equal(tolerate_open(path, complaint, &t), -ENOENT);
	assert_string_equal(complaint, wanted);
	assert_null(t);
}

TEST(no_lines_match_nothing)
{
	assert_int_equal(tolerate_find(NULL, &queries[0]), -1);
	assert_null(tolerate_line(NULL, 0));
	tolerate_close(NULL);
}
