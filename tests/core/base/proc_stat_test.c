/*
 * Reading /proc/PID/stat
 */
#include <unistd.h>

#include "core/base/proc_stat.h"
#include "tests/test.h"

#define REST " 1 4711 4711 0 -1 2097216 0 0 0 0 70 30 0 0 20 0 3 0 123456 0 0 "

TEST(fields_are_found_behind_any_name)
{
	static const char *const names[] = { "app", "a b", "a) R 1 (", "" };
	struct proc_stat stat;
	char text[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(text, sizeof(text), "4711 (%s) S" REST, names[i]);
		assert_true(proc_stat_parse(text, &stat));
		assert_int_equal(stat.state, 'S');
		assert_true(stat.flags & PROC_STAT_KERNEL);
		assert_int_equal(stat.user + stat.system, 100);
		assert_int_equal(stat.threads, 3);
		assert_int_equal(stat.start, 123456);
		assert_int_equal(stat.exit_code, 0);
	}
}

TEST(other_texts_are_refused)
{
	static const char *const texts[] = { "", "4711", "4711 (app)", "4711 (app) ",
					     "4711 (app) S 1 2 3" };
	struct proc_stat stat;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_false(proc_stat_parse(texts[i], &stat));
}

TEST(own_process_and_thread_are_read)
{
	struct proc_stat process, thread;

	assert_true(proc_stat_read(getpid(), 0, &process));
	assert_true(proc_stat_read(getpid(), gettid(), &thread));
	assert_int_equal(process.start, thread.start);
	assert_true(process.environ_end);
	assert_false(proc_stat_read(getpid(), 1, &thread));
}
