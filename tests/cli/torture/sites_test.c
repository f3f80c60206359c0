#include "cli/torture/sites.h"
#include "tests/core/store/example.h"

static struct sites sites;

static int read_sites(void **state)
{
	(void)state;
	example_begin_connected(&example, IBV_QPT_RC, false, false);
	example_open(&example);
	trace_close(example.trace);
	example.trace = NULL;
	return sites_read(example.path, false, &sites);
}

static int free_sites(void **state)
{
	(void)state;
	sites_fini(&sites);
	assert_int_equal(sites.n, 0);
	return unlink(example.path);
}

GROUP(read_sites, free_sites);

static const struct site *find_site(uint32_t node, const char *name, int opcode)
{
	for (size_t i = 0; i < sites.n; i++)
		if (sites.all[i].node == node && sites.all[i].opcode == opcode &&
		    !strcmp(sites.all[i].name, name))
			return &sites.all[i];
	return NULL;
}

TEST(each_process_that_opens_the_device_has_a_number)
{
	assert_int_equal(sites.nodes, 2);
	assert_non_null(find_site(0, "create_qp", -1));
	assert_non_null(find_site(1, "create_qp", -1));
	assert_null(find_site(2, "create_qp", -1));
}

TEST(calls_of_a_verb_are_counted_from_1_over_all_places)
{
	const struct site *modify = find_site(0, "modify_qp", -1);

	assert_non_null(modify);
	assert_int_equal(modify->first, 1);
	assert_int_equal(modify->last, modify->calls);
}
