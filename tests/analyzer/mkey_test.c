/* analyzer/rules/mkey.c and analyzer/model/key*.c over stored traces. */
#include "tests/analyzer/story.h"
#include "tests/test.h"

enum { AT = 0x7000, LENGTH = 4096, LKEY = 0x10, RKEY = 0x11 };

static struct ibv_mr region = { .context = &a_context,
				.pd = &a_pd,
				.addr = (void *)AT,
				.length = LENGTH,
				.lkey = LKEY,
				.rkey = RKEY };
static struct ibv_pd other_pd = { .context = &a_context, .handle = 2 };
static struct ibv_context other_context = { .num_comp_vectors = 1 };

static void register_as(struct story *s, struct ibv_mr *mr, int access)
{
	story_do(s, 0, VERB_reg_mr, 5, W(mr), W(mr->pd), W(mr->addr), W(mr->length), W(access));
}

static void send_from(struct story *s, uint64_t addr, uint32_t length, uint32_t lkey)
{
	struct event_sge sge = { addr, length, lkey };

	story_post(s, 0, VERB_post_send, &a_qp, 1, IBV_WR_SEND, sge);
}

static void receive_into(struct story *s, uint64_t addr, uint32_t length, uint32_t lkey)
{
	struct event_sge sge = { addr, length, lkey };

	story_post(s, 0, VERB_post_recv, &a_qp, 1, 0, sge);
}

/* An element of @length bytes at @addr. */
static const struct range {
	const char *name;
	uint64_t addr;
	uint32_t length;
	bool wrong;
	const char *says;
} ranges[] = {
	{ "all_of_the_region", AT, LENGTH, false, "" },
	{ "its_last_byte", AT + LENGTH - 1, 1, false, "" },
	{ "nothing_at_all", 0, 0, false, "" },
	{ "a_byte_too_many", AT, LENGTH + 1, true, "the access ends 1 byte past its end" },
	{ "two_bytes_too_early", AT - 2, 8, true, "the access begins 2 bytes before its start" },
	{ "behind_it", AT + LENGTH, 1, true, "the access begins exactly at its end" },
	{ "over_the_end_of_memory", UINT64_MAX - 1, 8, true, "they do not overlap" },
};

static void range_in_its_region(void **state)
{
	const struct range *range = *state;
	struct story s;

	story_with_qp(&s);
	register_as(&s, &region, IBV_ACCESS_LOCAL_WRITE); /* 1:10 */
	send_from(&s, range->addr, range->length, LKEY);  /* 1:12 */
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_MKEY_001], range->wrong);
	if (range->wrong) {
		const struct finding *f = story_only(&s, RULE_MKEY_001);

		assert_int_equal(f->event.n, 12);
		assert_int_equal(f->steps[0].moment.id.n, 10);
		assert_non_null(strstr(f->says, range->says));
		assert_string_equal(f->where, "ibv_post_send(): wr[0].sg_list[0].lkey");
	}
	story_end(&s);
}
TEST_ROWS(ranges, range_in_its_region);

TEST(a_request_is_found_wherever_its_key_was_cached)
{
	struct story s;

	story_with_qp(&s);
	register_as(&s, &region, IBV_ACCESS_LOCAL_WRITE);
	for (int i = 0; i < 3; i++)
		send_from(&s, AT, LENGTH, LKEY);
	send_from(&s, AT, LENGTH + 1, LKEY);
	story_check(&s, NULL);
	assert_int_equal(story_only(&s, RULE_MKEY_001)->event.n, 15);
	story_end(&s);
}

TEST(a_key_of_a_region_that_is_gone)
{
	const struct finding *f;
	struct story s;

	story_with_qp(&s);
	register_as(&s, &region, IBV_ACCESS_LOCAL_WRITE); /* 1:10 */
	send_from(&s, AT, 8, LKEY);
	story_poll(&s, 0, &a_cq, 1, IBV_WC_SUCCESS, 0x21);
	dereg_mr(&s, &region, 0); /* 1:14 */
	send_from(&s, AT, 8, LKEY);
	story_check(&s, NULL);
	f = story_only(&s, RULE_MKEY_001);
	assert_int_equal(f->event.n, 16);
	assert_non_null(strstr(f->says, "until ibv_dereg_mr() at 1:14"));
	assert_int_equal(f->nsteps, 3);
	assert_string_equal(f->steps[1].what, "deregistered");
	story_end(&s);
}

TEST(a_dereg_that_failed_leaves_the_key)
{
	struct story s;

	story_with_qp(&s);
	register_as(&s, &region, IBV_ACCESS_LOCAL_WRITE);
	dereg_mr(&s, &region, EBUSY);
	send_from(&s, AT, 8, LKEY);
	story_finds_nothing(&s);
}

TEST(a_key_that_is_given_again_is_the_new_region)
{
	struct ibv_mr again = region;
	struct story s;

	again.addr = (void *)0x9000;
	story_with_qp(&s);
	register_as(&s, &region, IBV_ACCESS_LOCAL_WRITE);
	send_from(&s, AT, 8, LKEY);
	story_poll(&s, 0, &a_cq, 1, IBV_WC_SUCCESS, 0x21);
	dereg_mr(&s, &region, 0);
	register_as(&s, &again, IBV_ACCESS_LOCAL_WRITE);
	send_from(&s, 0x9000, 8, LKEY);
	story_finds_nothing(&s);
}

TEST(two_devices_give_the_same_key)
{
	struct ibv_pd pd = { .context = &other_context, .handle = 1 };
	struct ibv_mr mr = region;
	struct story s;

	mr.context = &other_context;
	mr.pd = &pd;
	mr.length = 8;
	story_with_qp(&s);
	story_do(&s, 0, VERB_open_device, 1, W(&other_context), W(0x2000));
	story_do(&s, 0, VERB_alloc_pd, 2, W(&pd), W(&other_context));
	register_as(&s, &region, IBV_ACCESS_LOCAL_WRITE);
	register_as(&s, &mr, IBV_ACCESS_LOCAL_WRITE);
	send_from(&s, AT, LENGTH, LKEY);
	dereg_mr(&s, &mr, 0);
	send_from(&s, AT, LENGTH, LKEY);
	story_finds_nothing(&s);
}

TEST(addresses_of_requests_are_those_of_the_iova)
{
	struct story s;

	story_with_qp(&s);
	story_do(&s, 0, VERB_reg_mr_iova, 5, W(&region), W(&a_pd), W(AT), W(LENGTH), W(0x100),
		 W(IBV_ACCESS_LOCAL_WRITE));
	send_from(&s, 0x100, LENGTH, LKEY);
	send_from(&s, AT, 8, LKEY); /* 1:13 */
	story_check(&s, NULL);
	assert_int_equal(story_only(&s, RULE_MKEY_001)->event.n, 13);
	assert_non_null(strstr(story_only(&s, RULE_MKEY_001)->says,
			       "; it is the program's address of the region, not its iova."));
	story_end(&s);
}

/* The right address with the key of another region. */
TEST(an_address_in_another_region)
{
	struct ibv_mr other = region;
	struct story s;

	other.addr = (void *)(AT + 0x10000);
	other.handle++;
	other.lkey = LKEY + 0x100;
	other.rkey = RKEY + 0x100;
	story_with_qp(&s);
	register_as(&s, &region, IBV_ACCESS_LOCAL_WRITE);
	register_as(&s, &other, IBV_ACCESS_LOCAL_WRITE);
	send_from(&s, AT + 0x10000 + LENGTH - 8, 8, LKEY);
	story_tells(&s, RULE_MKEY_001, "; they do not overlap; it is in mr2 of pd1, with lkey 0x");
}

TEST(a_zero_based_region_has_offsets)
{
	struct story s;

	story_with_qp(&s);
	register_as(&s, &region, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);
	receive_into(&s, 0, LENGTH, LKEY);
	receive_into(&s, AT, LENGTH, LKEY); /* some devices ignore the flag */
	receive_into(&s, 1, LENGTH, LKEY);  /* 1:14 */
	story_check(&s, NULL);
	assert_int_equal(story_only(&s, RULE_MKEY_001)->event.n, 14);
	story_end(&s);
}

TEST(an_implicit_region_is_all_memory)
{
	struct ibv_mr all = region;
	struct story s;

	all.addr = NULL;
	all.length = SIZE_MAX;
	story_with_qp(&s);
	register_as(&s, &all, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	receive_into(&s, 0x123456789, 8, LKEY);
	story_finds_nothing(&s);
}

TEST(a_null_region_is_everywhere)
{
	struct ibv_mr null = region;
	struct story s;

	null.addr = NULL;
	null.length = 0;
	story_with_qp(&s);
	story_do(&s, 0, VERB_alloc_null_mr, 5, W(&null), W(&a_pd));
	receive_into(&s, 0x123456789, 8, LKEY);
	story_finds_nothing(&s);
}

TEST(a_region_that_moved)
{
	struct ibv_mr moved = region;
	struct story s;

	story_with_qp(&s);
	register_as(&s, &moved, IBV_ACCESS_LOCAL_WRITE);
	moved.lkey = 0x20;
	story_do(&s, 0, VERB_rereg_mr, 6, 0, W(&moved), W(IBV_REREG_MR_CHANGE_TRANSLATION), W(0),
		 W(0x9000), W(64), W(0));
	send_from(&s, 0x9000, 64, 0x20);
	send_from(&s, AT, 8, 0x20); /* 1:15 */
	story_check(&s, NULL);
	assert_int_equal(story_only(&s, RULE_MKEY_001)->event.n, 15);
	story_end(&s);
}

TEST(the_key_from_before_a_move)
{
	struct ibv_mr moved = region;
	struct story s;

	story_with_qp(&s);
	register_as(&s, &moved, IBV_ACCESS_LOCAL_WRITE);
	moved.lkey = 0x20;
	story_do(&s, 0, VERB_rereg_mr, 6, 0, W(&moved), W(IBV_REREG_MR_CHANGE_TRANSLATION), W(0),
		 W(0x9000), W(64), W(0));
	send_from(&s, 0x9000, 64, region.lkey);
	story_poll(&s, 0, &a_cq, 1, IBV_WC_LOC_PROT_ERR, 0x21);
	story_tells(&s, RULE_MKEY_001,
		    "which is not the key of a region of the process, but was the lkey of mr1 of "
		    "pd1 until ibv_rereg_mr() at ");
}

TEST(an_unknown_key_that_worked_is_somebody_elses)
{
	struct story s;

	story_with_qp(&s);
	send_from(&s, AT, 8, 0x77);
	story_poll(&s, 0, &a_cq, 1, IBV_WC_SUCCESS, 0x21);
	story_finds_nothing(&s);
}

TEST(an_unknown_key_that_the_device_refused)
{
	const struct finding *f;
	struct story s;

	story_with_qp(&s);
	register_as(&s, &region, IBV_ACCESS_LOCAL_WRITE);
	send_from(&s, AT, 8, RKEY); /* 1:12 */
	story_poll(&s, 0, &a_cq, 1, IBV_WC_LOC_PROT_ERR, 0x21);
	story_check(&s, NULL);
	f = story_only(&s, RULE_MKEY_001);
	assert_int_equal(f->event.n, 12);
	assert_non_null(strstr(f->says, "IBV_WC_LOC_PROT_ERR"));
	assert_non_null(strstr(f->says, "whose rkey it is"));
	story_end(&s);
}

TEST(a_key_and_an_address_are_swapped)
{
	const struct finding *f;
	struct story s;

	story_with_qp(&s);
	register_as(&s, &region, IBV_ACCESS_LOCAL_WRITE);
	send_from(&s, region.lkey, 8, AT + 16);
	story_poll(&s, 0, &a_cq, 1, IBV_WC_LOC_PROT_ERR, 0x21);
	story_check(&s, NULL);
	f = story_only(&s, RULE_MKEY_001);
	assert_non_null(strstr(f->says, "but mr1 of pd1, whose lkey is in addr: the two are "
					"swapped"));
	story_end(&s);
}

TEST(another_error_does_not_blame_an_unknown_key)
{
	struct story s;

	story_with_qp(&s);
	send_from(&s, AT, 8, 0x77);
	story_poll(&s, 0, &a_cq, 1, IBV_WC_RETRY_EXC_ERR, 0x21);
	story_finds_nothing(&s);
}

TEST(a_key_may_be_older_than_the_recording)
{
	struct story s;

	story_begin(&s);
	create_cq(&s);
	create_qp(&s);
	send_from(&s, AT, 8, 0x77);
	story_poll(&s, 0, &a_cq, 1, IBV_WC_LOC_PROT_ERR, 0x21);
	story_finds_nothing(&s);
}

TEST(regions_with_two_owners_are_not_judged)
{
	struct ibv_mr twin = region;
	struct story s;

	story_with_qp(&s);
	register_as(&s, &region, IBV_ACCESS_LOCAL_WRITE);
	story_do(&s, 0, VERB_import_mr, 5, W(&twin), W(&a_pd), W(7));
	story_do(&s, 0, VERB_unimport_mr, 6, 0, W(&twin));
	send_from(&s, AT, 8, LKEY);
	story_finds_nothing(&s);
}

TEST(a_region_of_another_protection_domain)
{
	struct ibv_mr mr = region;
	const struct finding *f;
	struct story s;

	mr.pd = &other_pd;
	story_with_qp(&s);
	story_do(&s, 0, VERB_alloc_pd, 2, W(&other_pd), W(&a_context));
	register_as(&s, &mr, IBV_ACCESS_LOCAL_WRITE);
	send_from(&s, AT, 8, LKEY); /* 1:14 */
	story_check(&s, NULL);
	f = story_only(&s, RULE_MKEY_002);
	assert_int_equal(f->event.n, 14);
	assert_non_null(strstr(f->says, "lkey 0x10 is mr1 of pd2, and qp1 is in pd1"));
	story_end(&s);
}

/* A datagram with address handle @ah. */
static void send_by(struct story *s, const struct ibv_ah *ah)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_ud *ud = (struct event_ud *)(wr + 1);

	event->object = W(&a_qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	wr->wr_id = 1;
	wr->opcode = IBV_WR_SEND;
	wr->flags = IBV_SEND_SIGNALED;
	wr->parts = WR_UD;
	ud->ah = W(ah);
	ud->remote_qpn = 7;
	story_event(s, 0, EVENT_POST, (sizeof(*event) + sizeof(*wr) + sizeof(*ud)) / 8);
}

/* An address handle of the queue pair's own domain, or of the other one. */
static const struct handle {
	const char *name;
	struct ibv_pd *pd;
	bool wrong;
} handles[] = {
	{ "an_address_handle_of_the_same_domain", &a_pd, false },
	{ "an_address_handle_of_another_domain", &other_pd, true },
};

static void address_handle_fits(void **state)
{
	const struct handle *handle = *state;
	struct ibv_ah ah = { .context = &a_context, .pd = handle->pd };
	struct ibv_ah_attr attr = { .dlid = 1, .port_num = 1 };
	struct story s;

	story_with_qp(&s);
	story_do(&s, 0, VERB_alloc_pd, 2, W(&other_pd), W(&a_context));
	story_do(&s, 0, VERB_create_ah, 7, W(&ah), W(handle->pd), W(&attr));
	send_by(&s, &ah);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_MKEY_002], handle->wrong);
	if (handle->wrong)
		assert_non_null(strstr(story_only(&s, RULE_MKEY_002)->says,
				       "wr[0].wr.ud.ah is ah1 of pd2, and qp1 is in pd1"));
	story_end(&s);
}
TEST_ROWS(handles, address_handle_fits);

TEST(a_parent_domain_is_the_domain_below_it)
{
	struct ibv_parent_domain_init_attr attr = { .pd = &a_pd };
	struct ibv_mr mr = region;
	struct story s;

	mr.pd = &other_pd;
	story_with_qp(&s);
	story_do(&s, 0, VERB_alloc_parent_domain, 2, W(&other_pd), W(&a_context), W(&attr));
	register_as(&s, &mr, IBV_ACCESS_LOCAL_WRITE);
	send_from(&s, AT, 8, LKEY);
	story_finds_nothing(&s);
}

/* The use of an element, and the region's access. */
static const struct sink {
	const char *name;
	int opcode; /* -1: a receive */
	int access;
	bool wrong;
} sinks[] = {
	{ "a_send_only_reads", IBV_WR_SEND, 0, false },
	{ "a_write_only_reads", IBV_WR_RDMA_WRITE, 0, false },
	{ "a_receive_may_write", -1, IBV_ACCESS_LOCAL_WRITE, false },
	{ "a_receive_must_be_allowed_to_write", -1, 0, true },
	{ "so_must_a_read", IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ, true },
	{ "and_an_atomic", IBV_WR_ATOMIC_FETCH_AND_ADD, 0, true },
};

static void region_allows(void **state)
{
	const struct sink *sink = *state;
	const struct event_sge sge = { AT, 8, LKEY };
	struct story s;

	story_with_qp(&s);
	register_as(&s, &region, sink->access);
	if (sink->opcode < 0)
		receive_into(&s, AT, 8, LKEY);
	else
		story_post(&s, 0, VERB_post_send, &a_qp, 1, sink->opcode, sge);
	story_check(&s, NULL);
	assert_int_equal(story_found(&s), sink->wrong);
	if (sink->wrong)
		assert_non_null(strstr(story_only(&s, RULE_MKEY_003)->says, "_LOCAL_WRITE"));
	story_end(&s);
}
TEST_ROWS(sinks, region_allows);

TEST(remote_write_requires_local_write)
{
	struct story s;

	story_with_qp(&s);
	register_as(&s, &region, IBV_ACCESS_REMOTE_READ);
	dereg_mr(&s, &region, 0);
	story_do(&s, 0, VERB_reg_mr, 5, 0, W(&a_pd), W(AT), W(LENGTH), W(IBV_ACCESS_REMOTE_WRITE));
	story_check(&s, NULL);
	assert_int_equal(story_only(&s, RULE_MKEY_003)->event.n, 14);
	story_end(&s);
}
