/*
 * The traces of a folder, in order, without hidden ones
 */
#include "cli/replay/suite_find.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "core/wire/log.h"
#include "tests/parent.h"

GROUP(make_parent, remove_parent);

static const char *const folders[] = { "a", "a/deep", ".hidden" };
static const char *const files[] = { "b.db",         "a/z.db",  "a/deep/1.db", "a/deep/x.txt",
				     ".hidden/h.db", ".dot.db", "a/.db",       "c.dbx",
				     "db",           "a.db" };

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", parent, name);
	return path;
}

static int make_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		mkdir(path_of(folders[i]), 0700);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		close(open(path_of(files[i]), O_WRONLY | O_CREAT, 0600));
	return symlink("..", path_of("a/deep/again"));
}

static int remove_files(void **state)
{
	(void)state;
	unlink(path_of("a/deep/again"));
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		unlink(path_of(files[i]));
	for (size_t i = sizeof(folders) / sizeof(*folders); i-- > 0;)
		rmdir(path_of(folders[i]));
	return 0;
}

FIXTURE(make_files, remove_files);

TEST(traces_are_sorted_by_folder_and_name)
{
	static const char *const wanted[] = { "/a/deep/1.db", "/a/z.db", "/a.db", "/b.db" };
	struct suite_traces traces;

	assert_int_equal(suite_find(parent, &traces), 0);
	assert_int_equal(traces.n, 4);
	assert_int_equal(traces.skip, strlen(parent));
	for (size_t i = 0; i < traces.n; i++)
		assert_string_equal(traces.paths[i] + traces.skip, wanted[i]);
	suite_traces_fini(&traces);
	assert_int_equal(traces.n, 0);
	suite_traces_fini(&traces);
}

TEST(a_folder_that_is_hidden_may_be_given)
{
	struct suite_traces traces;

	assert_int_equal(suite_find(path_of(".hidden"), &traces), 0);
	assert_int_equal(traces.n, 1);
	suite_traces_fini(&traces);
}

static const struct refusal {
	const char *name; /* below the parent */
	int err;
} refusals[] = { { "b.db", -ENOTDIR }, { "absent", -ENOENT }, { "empty", -ENOENT } };

static void folder_is_refused(void **state)
{
	const struct refusal *row = *state;
	struct suite_traces traces;

	log_silence(true);
	make_files(state);
	mkdir(path_of("empty"), 0700);
	assert_int_equal(suite_find(path_of(row->name), &traces), row->err);
	suite_traces_fini(&traces);
	rmdir(path_of("empty"));
	remove_files(state);
	log_silence(false);
}
TEST_ROWS(refusals, folder_is_refused);
