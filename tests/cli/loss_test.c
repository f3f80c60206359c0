/*
 * What commands say about a recording that is not complete: loss_test.txt
 *
 * The same recording is altered in one way after the other. Of each output only the lines are shown
 * that the recording itself does not have.
 */
#include <sqlite3.h>

#include "core/base/read_file.h"
#include "tests/cli/run.h"

#define META(key, value) "INSERT OR REPLACE INTO meta VALUES('" key "', " value ");"
#define COVERAGE(what, detail, times)                                                        \
	"INSERT INTO coverage(thread, n, process, time, what, detail, times) VALUES(1, 20, " \
	"1, 300000, '" what "', " detail ", " times ");"
#define LOSS(events, overwritten)                                                         \
	"INSERT OR REPLACE INTO loss(thread, process, events, first, last, overwritten) " \
	"VALUES(1, 1, " events ", 0, 400000, " overwritten ");"

static const struct alteration {
	const char *name, *sql;
} alterations[] = {
	{ "interrupted", META("state", "'interrupted'") META("copies_on_fork", "'no'")
				 COVERAGE("direct", "'mlx5dv_devx_obj_create'", "1") },
	{ "lost", LOSS("7", "0") COVERAGE("handlers", "NULL", "3") META("filter", "'verb=x'")
			  META("excerpt", "'1:5 to 1:9'") },
	{ "late", LOSS("5", "0") COVERAGE("late", "NULL", "5") META("copies_on_fork", "'yes'") },
	{ "unwritten", COVERAGE("unwritten", "'No space left on device'", "1234")
			       META("snapshot", "'every 5 s'") META("ring_budget", "1048576")
				       META("withheld_threads", "2") META("withheld_rings", "4")
					       META("waits_given_up", "6") META("one_of", "16") },
	{ "damaged", COVERAGE("damaged", "'x'", "2") COVERAGE("extended-qp", "NULL", "1")
			     META("carried", "300000") },
	{ "overwritten", LOSS("9", "9") META("cut", "250000") META("anonymised", "1") },
};

static const char *const asked[] = {
	"info %s", "info --json %s", "check %s", "stat %s", "emit %s", "diff rich.db %s",
};

static int begin_loss(void **state)
{
	char *bytes, path[sizeof(run_folder) + 32];
	size_t n;

	if (run_begin(state))
		return -1;
	snprintf(path, sizeof(path), "%s/rich.db", run_folder);
	if (read_file(path, &bytes, &n))
		return -1;
	for (size_t i = 0; i < sizeof(alterations) / sizeof(*alterations); i++) {
		FILE *file;
		sqlite3 *db;
		char *error = NULL;

		snprintf(path, sizeof(path), "%s/%s.db", run_folder, alterations[i].name);
		file = fopen(path, "w");
		assert_int_equal(fwrite(bytes, 1, n, file), n);
		fclose(file);
		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		sqlite3_exec(db, alterations[i].sql, NULL, NULL, &error);
		assert_string_equal(error ?: "", "");
		sqlite3_close(db);
	}
	free(bytes);
	return 0;
}

GROUP(begin_loss, run_end);

static bool has_line(const struct text *text, const char *line, size_t n)
{
	for (const char *at = text->at; at && *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (strcspn(at, "\n") == n && !strncmp(at, line, n))
			return true;
	return false;
}

/* Append the lines of the command about @name that are not in @plain. */
static void add_new_lines(struct text *to, const char *command, const char *name,
			  const struct text *plain)
{
	char text[128], file[32];
	struct text out = { 0 };

	snprintf(file, sizeof(file), "%s.db", name);
	snprintf(text, sizeof(text), command, file);
	text_addf(to, "$ %s\n", text);
	run_command(&out, text);
	for (const char *at = out.at; at && *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (!has_line(plain, at, strcspn(at, "\n")) && !strstr(at, ".db: "))
			text_addf(to, "%.*s\n", (int)strcspn(at, "\n"), at);
	text_fini(&out);
}

TEST(notes_are_those_of_the_transcript)
{
	struct text all = { 0 };

	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		struct text plain = { 0 };
		char text[128];

		snprintf(text, sizeof(text), asked[i], "rich.db");
		run_command(&plain, text);
		for (size_t k = 0; k < sizeof(alterations) / sizeof(*alterations); k++)
			add_new_lines(&all, asked[i], alterations[k].name, &plain);
		text_fini(&plain);
	}
	transcript_expect(__FILE__, &all);
}
