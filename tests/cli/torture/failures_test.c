#include <infiniband/verbs.h>

#include "cli/torture/failures.h"
#include "tests/test.h"

static struct site sites[] = {
	{ .verb = VERB_create_cq,
	  .name = "create_cq",
	  .cm_event = -1,
	  .opcode = -1,
	  .first = 1,
	  .last = 3,
	  .calls = 3 },
	{ .verb = VERB_destroy_qp,
	  .name = "destroy_qp",
	  .cm_event = -1,
	  .opcode = -1,
	  .first = 1,
	  .last = 1,
	  .calls = 1 },
	{ .node = 1,
	  .verb = VERB_modify_qp,
	  .name = "modify_qp",
	  .cm_event = -1,
	  .opcode = -1,
	  .first = 2,
	  .last = 2,
	  .calls = 1 },
	{ .verb = VERB_get_cq_event,
	  .name = "get_cq_event",
	  .cm_event = -1,
	  .opcode = -1,
	  .first = 1,
	  .last = 1,
	  .calls = 1 },
	{ .verb = VERB_post_send,
	  .name = "post_send",
	  .cm_event = -1,
	  .opcode = -1,
	  .first = 1,
	  .last = 8,
	  .calls = 8 },
	{ .verb = VERB_post_send,
	  .cm_event = -1,
	  .opcode = IBV_WR_RDMA_READ,
	  .first = 1,
	  .last = 8,
	  .calls = 8 },
	{ .verb = VERB_post_send,
	  .cm_event = -1,
	  .opcode = IBV_WR_SEND,
	  .datagram = true,
	  .first = 1,
	  .last = 1,
	  .calls = 1 },
};
static struct failures failures;

static void list_sites(size_t first, size_t n, bool every)
{
	struct sites some = { .all = sites + first, .n = n };

	assert_int_equal(failures_list(&some, every, &failures), 0);
}

static int free_list(void **state)
{
	(void)state;
	failures_fini(&failures);
	return 0;
}

static int begin_test(void **state)
{
	(void)state;
	return 0;
}

FIXTURE(begin_test, free_list);

/* The rules of a site, in their order; the last is NULL. */
static void expect_rules(size_t site, bool every, const char *const *wanted)
{
	list_sites(site, 1, every);
	for (size_t i = 0; wanted[i]; i++) {
		assert_true(i < failures.n);
		assert_string_equal(failures.all[i].rule, wanted[i]);
		assert_int_equal(failures.all[i].number, i + 1);
	}
	if (!every)
		assert_string_equal(failures.all[0].rule, wanted[0]);
}
#define RULES(site, every, ...) \
	expect_rules(site, every, (const char *const[]){ __VA_ARGS__, NULL })

TEST(a_creation_has_no_memory)
{
	RULES(0, false, "process=0 verb=create_cq n=1 errno=ENOMEM");
	assert_int_equal(failures.n, 1);
	assert_string_equal(failures.all[0].what, "ibv_create_cq() fails with ENOMEM");
	assert_int_equal(failures.all[0].error, 12);
}

TEST(a_destroy_is_busy)
{
	RULES(1, false, "process=0 verb=destroy_qp n=1 errno=EBUSY");
}

TEST(another_verb_has_a_wrong_argument_in_its_process)
{
	RULES(2, false, "process=1 verb=modify_qp n=2 errno=EINVAL");
}

TEST(a_verb_that_waits_does_not_fail)
{
	list_sites(3, 1, true);
	assert_int_equal(failures.n, 0);
}

/* The device list is libibverbs' own. */
TEST(a_verb_that_looks_for_devices_does_not_fail)
{
	struct site look = { .verb = VERB_get_device_list,
			     .name = "get_device_list",
			     .cm_event = -1,
			     .opcode = -1,
			     .first = 1,
			     .last = 1,
			     .calls = 1 };
	struct sites some = { .all = &look, .n = 1 };

	assert_int_equal(failures_list(&some, false, &failures), 0);
	assert_int_equal(failures.n, 0);
}

TEST(a_post_finds_its_queue_full)
{
	RULES(4, false, "process=0 verb=post_send n=1 errno=ENOMEM");
}

TEST(a_read_is_refused_at_the_other_end)
{
	RULES(5, false, "process=0 opcode=RDMA_READ n=1 status=REM_ACCESS_ERR");
	assert_int_equal(failures.all[0].status, IBV_WC_REM_ACCESS_ERR);
	assert_string_equal(failures.all[0].what, "RDMA_READ completes with REM_ACCESS_ERR");
}

TEST(a_datagram_fails_only_at_its_own_end)
{
	RULES(6, false, "process=0 opcode=SEND n=1 status=LOC_PROT_ERR");
}

TEST(every_tries_the_last_call_and_each_status)
{
	RULES(5, true, "process=0 opcode=RDMA_READ n=1 status=REM_ACCESS_ERR",
	      "process=0 opcode=RDMA_READ n=1 status=RETRY_EXC_ERR",
	      "process=0 opcode=RDMA_READ n=1 status=REM_OP_ERR",
	      "process=0 opcode=RDMA_READ n=1 delay=300ms",
	      "process=0 opcode=RDMA_READ n=8 status=REM_ACCESS_ERR");
	assert_int_equal(failures.n, 8);
}

TEST(every_has_each_errno_of_the_manual_page_once)
{
	list_sites(0, 1, true);
	assert_true(failures.n > 2);
	for (size_t i = 0; i < failures.n; i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(failures.all[i].rule, failures.all[j].rule);
}

TEST(events_come_at_the_middle_request_of_each_process)
{
	struct sites some = { .all = sites + 5, .n = 1, .nodes = 1 };

	assert_int_equal(failures_list(&some, false, &failures), 0);
	assert_int_equal(failures.n, 6);
	assert_string_equal(failures.all[2].rule, "process=0 opcode=RDMA_READ n=4 event=QP_FATAL");
	assert_int_equal(failures.all[2].n, 4);
}

TEST(a_process_is_killed_at_the_begin_and_the_end_too)
{
	struct sites some = { .all = sites, .n = sizeof(sites) / sizeof(*sites), .nodes = 2 };
	static const char *const of[] = { "process=0 opcode=RDMA_READ n=4 kill",
					  "process=0 opcode=RDMA_READ n=1 kill",
					  "process=0 opcode=RDMA_READ n=8 kill" };
	size_t found = 0;

	assert_int_equal(failures_list(&some, true, &failures), 0);
	for (size_t i = 0; i < failures.n; i++)
		if (failures.all[i].kills && !strncmp(failures.all[i].rule, "process=0", 9)) {
			assert_true(found < 3);
			assert_string_equal(failures.all[i].rule, of[found++]);
		}
	assert_int_equal(found, 3);
}

TEST(a_process_is_killed_if_another_can_notice)
{
	struct sites some = { .all = sites + 5, .n = 1, .nodes = 2 };

	assert_int_equal(failures_list(&some, false, &failures), 0);
	assert_string_equal(failures.all[failures.n - 1].rule,
			    "process=0 opcode=RDMA_READ n=4 kill");
}

TEST(each_run_of_chaos_has_a_seed_of_its_own)
{
	assert_int_equal(failures_chaos(7, 4, &failures), 0);
	assert_int_equal(failures.n, 4);
	for (size_t i = 0; i < failures.n; i++) {
		char seed[24];

		snprintf(seed, sizeof(seed), "seed=%zu ", 7 + i);
		assert_non_null(strstr(failures.all[i].rule, seed));
		assert_true(failures.all[i].chaos);
		assert_int_equal(failures.all[i].number, i + 1);
	}
	assert_non_null(strstr(failures.all[0].rule, "delay=200us"));
	assert_non_null(strstr(failures.all[0].rule, "late=200us"));
}

TEST(one_run_of_chaos_in_four_holds_one_thread)
{
	assert_int_equal(failures_chaos(1, 9, &failures), 0);
	for (size_t i = 0; i < failures.n; i++)
		assert_int_equal(strstr(failures.all[i].rule, " thread=") != NULL, i % 4 == 3);
	assert_non_null(strstr(failures.all[3].rule, "verb=any thread=1 n=1 "));
	assert_non_null(strstr(failures.all[7].rule, "verb=any thread=2 n=1 "));
}

TEST(the_recorder_makes_what_it_can)
{
	struct sites some = { .all = sites + 5, .n = 1, .nodes = 1, .by_recorder = true };

	assert_int_equal(failures_list(&some, false, &failures), 0);
	assert_int_equal(failures.n, 5);
	assert_string_equal(failures.all[1].rule, "process=0 opcode=RDMA_READ n=4 late=300ms");
	assert_string_equal(failures.all[4].rule, "process=0 opcode=RDMA_READ n=4 event=PORT_ERR");
}
