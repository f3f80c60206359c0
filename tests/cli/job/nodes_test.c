#include "cli/job/nodes.h"

#include <errno.h>
#include <string.h>

#include "tests/test.h"

#define NINE "a-long-name-of-a-node-of-a-job"

static const struct {
	const char *text, *names; /* NULL: it is refused */
} rows[] = {
	{ "n1", "n1 " },
	{ "n1,m2", "n1 m2 " },
	{ "n[3-5]", "n3 n4 n5 " },
	{ "n[08-10,3],m", "n08 n09 n10 n3 m " },
	{ "n[1-2]-ib\n", "n1-ib n2-ib " },
	{ "n2,n[1-3],n2", "n2 n1 n3 " }, /* each once */
	{ "", "" },
	{ "10.0.0.1", "10.0.0.1 " },
	{ "n[1-", NULL },
	{ "n[]", NULL },
	{ "n[2-1]", NULL },
	{ "n[a-b]", NULL },
	{ "n[1-999999]", NULL },
	{ "../x", NULL },
	{ "-o", NULL },
	{ "a b", NULL },
	{ NINE NINE NINE NINE NINE NINE NINE NINE NINE, NULL }, /* it would be cut */
};

TEST(lists_are_those_of_slurm)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct nodes nodes = { 0 };
		char names[256] = "";
		int err = nodes_add(&nodes, rows[i].text);

		assert_int_equal(err, rows[i].names ? 0 : -EINVAL);
		for (size_t k = 0; k < nodes.n && !err; k++)
			strcat(strcat(names, nodes.names[k]), " ");
		if (rows[i].names)
			assert_string_equal(names, rows[i].names);
		nodes_fini(&nodes);
	}
}
