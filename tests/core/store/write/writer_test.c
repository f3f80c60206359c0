/*
 * What the writer makes of each kind of event: writer_test.txt
 */
#include "core/store/write/writer.h"

#include "tests/core/store/everything.h"
#include "tests/core/store/tables.h"

TEST(each_event_is_in_its_tables)
{
	struct text text = { 0 };

	everything_loses = true;
	open_everything();
	tables_add_all(&text, example.trace);
	example_end(&example);
	transcript_expect(__FILE__, &text);
}
