/* Which files of a tree like /sys/class/infiniband are counters, and what is stored of them. */
#include "cli/record/device_counters.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/facts/outage.h"
#include "core/store/db/sql.h"
#include "tests/analyzer/story.h"
#include "tests/test.h"

static char dir[] = "/tmp/device_counters_test-XXXXXX";

static void put_file(const char *name, const char *text)
{
	char path[256];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	out = fopen(path, "w");
	fputs(text, out);
	fclose(out);
}

static int make_tree(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	put_file("rxe0/ports/1/hw_counters/completer_retry_err", "5\n");
	put_file("rxe0/ports/1/hw_counters/sent_pkts", "      10\n");
	put_file("rxe0/ports/1/hw_counters/lifespan", "10\n"); /* a setting */
	put_file("rxe0/ports/1/hw_counters/of.another", "1\n");
	put_file("rxe0/ports/1/counters/port_rcv_data", "18446744073709551615\n");
	put_file("rxe0/ports/1/counters/excessive", "18446744073709551616\n");
	put_file("rxe0/ports/1/counters/negative", "-1\n");
	put_file("rxe0/ports/1/counters/not_available", "N/A (no PMA)\n");
	put_file("rxe0/ports/1/gids/0", "1\n");
	put_file("rxe0/hw_counters/of_all", "7\n");
	return 0;
}

static int remove_tree(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static const char rows_sql[] =
	"SELECT group_concat(device || ':' || port || '/' || folder || '/' || name || ' ' || first"
	" || ' ' || last, ', ') FROM (SELECT * FROM counter ORDER BY device, port, folder, name)";

static void assert_rows(struct story *s, const char *expected)
{
	sqlite3_stmt *stmt;

	assert_int_equal(sql_prepare(writer_db(s->writer), rows_sql, &stmt), 0);
	assert_int_equal(sql_step(stmt), 1);
	assert_string_equal(sqlite3_column_text(stmt, 0) ?: (const unsigned char *)"", expected);
	sqlite3_finalize(stmt);
}

GROUP(make_tree, remove_tree);

TEST(values_of_both_times_are_stored)
{
	struct device_counters counters;
	struct story s;

	story_begin(&s);
	assert_int_equal(device_counters_begin(&counters, dir), 0);
	assert_int_equal(counters.n, 4);
	put_file("rxe0/ports/1/hw_counters/completer_retry_err", "72\n");
	put_file("rxe1/ports/2/counters/symbol_error", "3\n"); /* it is new: from 0 on */
	assert_int_equal(device_counters_store(&counters, s.writer), 0);
	assert_rows(&s, "rxe0:0/hw_counters/of_all 7 7, rxe0:1/counters/port_rcv_data -1 -1,"
			" rxe0:1/hw_counters/completer_retry_err 5 72,"
			" rxe0:1/hw_counters/sent_pkts 10 10, rxe1:2/counters/symbol_error 0 3");
	assert_int_equal(device_counters_restart(&counters), 0);
	put_file("rxe0/ports/1/hw_counters/completer_retry_err", "73\n");
	put_file("rxe0/ports/1/counters/port_rcv_data", "");
	assert_int_equal(writer_carry(s.writer), 0);
	assert_int_equal(device_counters_store(&counters, s.writer), 0);
	assert_rows(&s, "rxe0:0/hw_counters/of_all 7 7,"
			" rxe0:1/hw_counters/completer_retry_err 72 73,"
			" rxe0:1/hw_counters/sent_pkts 10 10, rxe1:2/counters/symbol_error 3 3");
	device_counters_end(&counters);
	story_check(&s, NULL);
	story_end(&s);
}

/* Counter, time and value. */
static void assert_samples(struct story *s, const char *expected)
{
	sqlite3_stmt *stmt;

	assert_int_equal(
		sql_prepare(writer_db(s->writer),
			    "SELECT group_concat(name || ' ' || time || ' ' || value, ', ')"
			    " FROM counter_sample",
			    &stmt),
		0);
	assert_int_equal(sql_step(stmt), 1);
	assert_string_equal(sqlite3_column_text(stmt, 0) ?: (const unsigned char *)"", expected);
	sqlite3_finalize(stmt);
}

TEST(changes_are_stored_once_a_second)
{
	static const int64_t second = 1000000000;
	struct device_counters counters;
	struct story s;

	story_begin(&s);
	put_file("rxe0/ports/1/hw_counters/sent_pkts", "10\n");
	assert_int_equal(device_counters_begin(&counters, dir), 0);
	put_file("rxe0/ports/1/hw_counters/sent_pkts", "11\n");
	device_counters_sample(&counters, s.writer, 5 * second);
	put_file("rxe0/ports/1/hw_counters/sent_pkts", "12\n");
	device_counters_sample(&counters, s.writer, 6 * second - 1);
	device_counters_sample(&counters, s.writer, 6 * second);
	device_counters_sample(&counters, s.writer, 7 * second);
	assert_samples(&s, "sent_pkts 5000000000 11, sent_pkts 6000000000 12");
	/* after an hour less often */
	device_counters_sample(&counters, s.writer, 3605 * second);
	put_file("rxe0/ports/1/hw_counters/sent_pkts", "13\n");
	device_counters_sample(&counters, s.writer, 3610 * second);
	device_counters_sample(&counters, s.writer, 3611 * second);
	assert_samples(&s, "sent_pkts 5000000000 11, sent_pkts 6000000000 12,"
			   " sent_pkts 3611000000000 13");
	put_file("rxe0/ports/1/hw_counters/sent_pkts", "10\n");
	device_counters_end(&counters);
	story_check(&s, NULL);
	story_end(&s);
}

TEST(files_that_may_not_be_read_are_counted)
{
	struct device_counters counters;
	char path[256];

	put_file("rxe0/ports/1/hw_counters/secret", "1\n");
	snprintf(path, sizeof(path), "%s/rxe0/ports/1/hw_counters/secret", dir);
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(chmod(dir, 0755), 0);
	if (!geteuid())
		assert_int_equal(seteuid(65534), 0);
	assert_int_equal(device_counters_begin(&counters, dir), 0);
	if (!getuid())
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(counters.refused, 1);
	assert_string_equal(counters.refused_name, "secret of rxe0");
	device_counters_end(&counters);
	unlink(path);
}

/* A request that failed on the machine of process 1. */
static void assert_suspected(struct story *s, uint32_t status, const char *expected)
{
	const struct outage_victim victim = { .process = 1, .status = status };
	char *text = outages_describe_removed(s->trace, &victim, false);

	if (expected)
		assert_string_equal(text, expected);
	else
		assert_null(text);
	free(text);
}

/* The tree is as it was afterwards. */
TEST(removed_devices_are_stored)
{
	struct device_counters counters;
	char gone[64], away[64];
	struct story s;

	snprintf(gone, sizeof(gone), "%s/rxe0", dir);
	snprintf(away, sizeof(away), "%s/.away", dir);
	story_begin(&s);
	assert_int_equal(device_counters_begin(&counters, dir), 0);
	assert_int_equal(rename(gone, away), 0);
	assert_int_equal(device_counters_store(&counters, s.writer), 0);
	assert_int_equal(rename(away, gone), 0);
	assert_rows(&s, "rxe0:0/device/removed 0 1, rxe1:2/counters/symbol_error 3 3");
	device_counters_end(&counters);
	story_check(&s, NULL);
	assert_non_null(
		strstr(story_only(&s, RULE_ENV_003)->says, "xe0: the device was removed during"));
	assert_suspected(
		&s, IBV_WC_RETRY_EXC_ERR,
		"device rxe0 of this machine was removed at some point during the recording");
	assert_suspected(&s, IBV_WC_LOC_LEN_ERR, NULL);
	story_end(&s);
}

TEST(a_machine_without_devices_has_none)
{
	struct device_counters counters;
	struct story s;

	story_begin(&s);
	assert_int_equal(device_counters_begin(&counters, "/nonexistent"), 0);
	assert_int_equal(counters.n, 0);
	assert_int_equal(device_counters_store(&counters, s.writer), 0);
	device_counters_end(&counters);
	assert_int_equal(device_counters_store(&counters, s.writer), 0); /* zeroed */
	assert_rows(&s, "");
	story_check(&s, NULL);
	story_end(&s);
}

TEST(the_software_device_counts_in_the_session)
{
	struct device_counters counters;
	char root[sizeof(dir) + 16];

	unsetenv("VERBATIM_SOFT_COUNTERS");
	snprintf(root, sizeof(root), "%s/counters", dir);
	assert_int_equal(device_counters_start(&counters, true, dir), 0);
	assert_string_equal(getenv("VERBATIM_SOFT_COUNTERS"), root);
	assert_string_equal(counters.root, root);
	device_counters_end(&counters);
	setenv("VERBATIM_SOFT_COUNTERS", "/elsewhere", 1);
	assert_int_equal(device_counters_start(&counters, true, dir), 0);
	assert_string_equal(counters.root, "/elsewhere");
	device_counters_end(&counters);
	assert_int_equal(device_counters_start(&counters, false, dir), 0);
	assert_string_equal(counters.root, "/sys/class/infiniband");
	device_counters_end(&counters);
	unsetenv("VERBATIM_SOFT_COUNTERS");
}
