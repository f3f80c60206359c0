/*
 * The file from which a stopped torture goes on
 */
#include "cli/torture/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/printed.h"
#include "tests/test.h"

enum { MOST = 3 };

static char folder[64], path[96];
static const struct site site = { .place = "main (a.c:7)" };
static struct failure failures[MOST];
static struct result all[MOST];
static struct results results = { .all = all, .n = MOST, .folder = folder };
static struct text said;

static int begin_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/progress_test-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/progress", folder);
	memset(all, 0, sizeof(all));
	for (unsigned int i = 0; i < MOST; i++) {
		failures[i] = (struct failure){ .number = i + 1, .site = &site };
		snprintf(failures[i].rule, sizeof(failures[i].rule), "verb=reg_mr n=%u", i + 1);
		all[i].failure = &failures[i];
	}
	return 0;
}

static int end_folder(void **state)
{
	(void)state;
	unlink(path);
	text_fini(&said);
	return rmdir(folder); /* the folder is empty */
}

FIXTURE(begin_folder, end_folder);

static int open_progress(bool resume, struct progress **ret_progress)
{
	int err;

	text_cut(&said, 0);
	printed_begin(true);
	err = progress_open(&results, resume, ret_progress);
	printed_end(&said);
	return err;
}

static void add_result(struct progress *progress, unsigned int i, const char *says)
{
	all[i].done = true;
	all[i].judgement.verdict = VERDICT_HANG;
	strcpy(all[i].judgement.says, says);
	assert_int_equal(progress_add(progress, &all[i]), 0);
}

static void forget_results(void)
{
	for (int i = 0; i < MOST; i++) {
		all[i].done = false;
		all[i].judgement.says[0] = '\0';
	}
}

static void read_file_of(char text[1024])
{
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	text[fread(text, 1, 1023, file)] = '\0';
	fclose(file);
}

static void append_to_file(const char *text)
{
	FILE *file = fopen(path, "a");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

TEST(results_are_there_as_soon_as_they_are_added)
{
	struct progress *progress;
	char text[1024];

	assert_int_equal(open_progress(false, &progress), 0);
	read_file_of(text);
	assert_string_equal(text, "");
	add_result(progress, 1, "it waits");
	read_file_of(text);
	assert_non_null(strstr(text, "\"says\":\"it waits\""));
	assert_string_equal(strchr(text, '\n'), "\n");
	progress_close(progress, false);
}

TEST(another_run_goes_on_with_them)
{
	struct progress *progress;
	char text[1024], again[1024];

	assert_int_equal(open_progress(false, &progress), 0);
	add_result(progress, 2, "third");
	add_result(progress, 0, "first");
	progress_close(progress, false);
	forget_results();
	assert_int_equal(open_progress(true, &progress), 0);
	assert_string_equal(said.at ?: "", "");
	assert_true(all[0].done && !all[1].done && all[2].done);
	assert_string_equal(all[0].judgement.says, "first");
	/* in the order of the failures */
	read_file_of(text);
	assert_true(strstr(text, "first") < strstr(text, "third"));
	add_result(progress, 1, "second");
	progress_close(progress, false);
	read_file_of(again);
	assert_memory_equal(again, text, strlen(text));
	assert_non_null(strstr(again + strlen(text), "second"));
}

TEST(what_is_no_result_of_this_list_is_left_out)
{
	struct progress *progress;
	char text[1024];

	assert_int_equal(open_progress(false, &progress), 0);
	add_result(progress, 0, "first");
	progress_close(progress, false);
	append_to_file("nonsense\n{\"number\": 9}\n");
	append_to_file("{\"number\": 2, \"verdict\": \"hang\", \"rule\": \"verb=reg_mr n=2\"");
	forget_results();
	assert_int_equal(open_progress(true, &progress), 0);
	snprintf(text, sizeof(text),
		 "verbatim: 2 results in %s do not match this list of failures and are ignored\n",
		 path);
	assert_string_equal(said.at, text);
	assert_true(all[0].done && !all[1].done);
	read_file_of(text);
	assert_null(strstr(text, "nonsense"));
	progress_close(progress, false);
}

TEST(a_new_run_forgets_the_old_one)
{
	struct progress *progress;
	char text[1024];

	assert_int_equal(open_progress(false, &progress), 0);
	add_result(progress, 0, "first");
	progress_close(progress, false);
	forget_results();
	assert_int_equal(open_progress(false, &progress), 0);
	assert_false(all[0].done);
	read_file_of(text);
	assert_string_equal(text, "");
	progress_close(progress, true);
	assert_int_equal(access(path, F_OK), -1);
}

TEST(failures_are_reported)
{
	struct progress *progress = NULL;
	char text[256];

	assert_int_equal(open_progress(true, &progress), -ENOENT);
	snprintf(text, sizeof(text), "verbatim: go on: open %s: No such file or directory\n", path);
	assert_string_equal(said.at, text);
	/* a folder cannot be replaced by a file */
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(open_progress(false, &progress), -EISDIR);
	snprintf(text, sizeof(text), "verbatim: replace %s: Is a directory\n", path);
	assert_string_equal(said.at, text);
	assert_null(progress);
	assert_int_equal(rmdir(path), 0);
}

TEST(close_accepts_null)
{
	progress_close(NULL, true);
}
