/*
 * cli/model/model_text.c: is a file the text of traffic?
 */
#include "cli/model/model_names.h"
#include "cli/model/model_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/test.h"

static bool is_text(const char *content)
{
	char path[] = "/tmp/model_text_testXXXXXX";
	int fd = mkstemp(path);
	FILE *file = fdopen(fd, "w");
	bool is;

	assert_non_null(file);
	fputs(content, file);
	fclose(file);
	is = model_is_text(path);
	unlink(path);
	return is;
}

TEST(a_model_is_one_after_comments)
{
	assert_true(is_text("model 1\n"));
	assert_true(is_text("# mine\n\n  model 1\n"));
}

TEST(other_files_are_not)
{
	assert_false(is_text("SQLite format 3"));
	assert_false(is_text("models 1\n"));
	assert_false(is_text("# model 1\n"));
	assert_false(is_text(""));
	assert_false(model_is_text("/nonexistent/file"));
}

TEST(edges_of_a_pattern_are_counted)
{
	assert_int_equal(model_count_edges(LOAD_ALL_TO_ALL, 4), 12);
	assert_int_equal(model_count_edges(LOAD_RING, 4), 4);
	assert_int_equal(model_count_edges(LOAD_RING_BACK, 4), 4);
	assert_int_equal(model_count_edges(LOAD_HYPERCUBE, 8), 24);
}
