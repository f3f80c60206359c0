/* Requests that were made to fail, from their post to their completion. */
#include "shim/trace/faults/forced_status.h"

#include "tests/test.h"

static int queue, other_queue;

static void add_doomed(const void *of, uint32_t qpn, uint64_t wr_id)
{
	const struct fault fault = { .value = IBV_WC_RETRY_EXC_ERR, .vendor_err = 0x81 };

	assert_int_equal(forced_status_add(of, qpn, wr_id, &fault), 0);
}

static bool settle_one(uint32_t qpn, uint64_t wr_id, enum ibv_wc_status status)
{
	uint32_t vendor_err = 0;
	enum ibv_wc_status had = status;
	bool settled = forced_status_apply(qpn, wr_id, &status, &vendor_err);

	assert_int_equal(status, settled ? IBV_WC_RETRY_EXC_ERR : had);
	assert_int_equal(vendor_err, settled ? 0x81 : 0);
	return settled;
}

TEST(own_failure_gets_the_status_once)
{
	add_doomed(&queue, 17, 5);
	assert_true(forced_status_has_any());
	assert_true(settle_one(17, 5, IBV_WC_LOC_PROT_ERR));
	assert_false(forced_status_has_any());
	assert_false(settle_one(17, 5, IBV_WC_LOC_PROT_ERR));
}

TEST(other_requests_keep_theirs)
{
	add_doomed(&queue, 17, 5);
	assert_false(settle_one(17, 6, IBV_WC_LOC_PROT_ERR));
	assert_false(settle_one(18, 5, IBV_WC_LOC_PROT_ERR));
	forced_status_forget(&queue);
}

TEST(flushed_request_stays_flushed)
{
	add_doomed(&queue, 17, 5);
	assert_false(settle_one(17, 5, IBV_WC_WR_FLUSH_ERR));
	assert_false(settle_one(17, 5, IBV_WC_SUCCESS));
	forced_status_forget(&queue);
	assert_false(forced_status_has_any());
}

TEST(completion_without_a_number_is_known_by_its_wr_id)
{
	add_doomed(&queue, 17, 5);
	assert_true(settle_one(0, 5, IBV_WC_LOC_PROT_ERR));
}

TEST(receive_of_a_shared_queue_completes_on_any_queue_pair)
{
	add_doomed(&queue, 0, 5);
	assert_true(settle_one(99, 5, IBV_WC_LOC_PROT_ERR));
}

TEST(refused_post_is_taken_back)
{
	add_doomed(&queue, 17, 5);
	add_doomed(&other_queue, 18, 5);
	forced_status_take_back(&queue, 5);
	assert_false(settle_one(17, 5, IBV_WC_LOC_PROT_ERR));
	assert_true(settle_one(18, 5, IBV_WC_LOC_PROT_ERR));
	assert_false(forced_status_has_any());
}
