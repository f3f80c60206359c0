/*
 * Empty polls that give up the processor: sched_yield() is the test's
 */
#include <sched.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

static struct pair *sends_meanwhile;
static bool yielded;

int sched_yield(void)
{
	yielded = true;
	if (sends_meanwhile)
		assert_int_equal(send_at(&sends_meanwhile->a, 1, 0, 8), 0);
	return 0;
}

static void poll_until_it_yields(struct pair *p, int expected)
{
	struct ibv_wc wc;
	int n = 0;

	for (yielded = false; !yielded;) {
		assert_int_equal(n, 0);
		n = ibv_poll_cq(p->b.cq, 1, &wc);
	}
	assert_int_equal(n, expected);
}

TEST_WITH(what_completes_meanwhile_is_found, pair_setup, pair_teardown)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 2, 0, 8), 0);
	poll_until_it_yields(p, 0);
	sends_meanwhile = p;
	poll_until_it_yields(p, 1);
	sends_meanwhile = NULL;
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
}

GROUP(fabric_setup, fabric_teardown);
