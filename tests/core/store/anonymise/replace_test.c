/*
 * A recording with each kind of event, anonymised: replace_test.txt
 *
 * Texts and addresses are replaced, numbers and times are not.
 */
#include "core/store/anonymise/anonymise.h"

#include <sys/random.h>

#include "tests/core/store/everything.h"
#include "tests/core/store/tables.h"

/* Substitutes of addresses are drawn: in each run the same ones. */
ssize_t getrandom(void *buffer, size_t n, unsigned int flags)
{
	static uint8_t drawn;

	(void)flags;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)buffer)[i] = drawn += 41;
	return (ssize_t)n;
}

TEST(identifying_data_are_replaced)
{
	struct text text = { 0 };
	struct trace *trace;
	char path[300];

	open_everything();
	snprintf(path, sizeof(path), "%s-hidden", example.path);
	assert_int_equal(anonymise_write(example.trace, path), 0);
	assert_int_equal(trace_open(path, &trace), 0);
	tables_add_all(&text, trace);
	trace_close(trace);
	unlink(path);
	example_end(&example);
	transcript_expect(__FILE__, &text);
}
