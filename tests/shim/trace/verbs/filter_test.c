/*
 * Events that pass a filter: queues of two devices, and completions with little information
 */
#include <infiniband/verbs.h>

#include "core/wire/desc.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/verbs/filter.h"
#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

static struct ibv_device device_a = { .name = "a" }, device_b = { .name = "b" };
static struct ibv_context a = { .device = &device_a }, b = { .device = &device_b };
static struct ibv_cq cq_a = { .context = &a }, cq_b = { .context = &b };

/* A program that is recorded with this filter begins. */
static void begin_filter(const struct session_filter *filter)
{
	session_begin(RING_MIN, ON_FULL_WAIT);
	session.page->filter = *filter;
	HOLDS(record_ready() && recorder.filter);
}

static struct ibv_qp make_qp(struct ibv_context *context, uint32_t number, enum ibv_qp_type type)
{
	struct ibv_qp qp = { .context = context, .qp_num = number, .qp_type = type };

	filter_note_qp(&qp);
	return qp;
}

static bool takes_post(const struct ibv_qp *qp)
{
	return filter_takes_post(VERB_post_send, qp);
}

static bool takes_completion(const struct ibv_cq *cq, uint32_t number, enum ibv_wc_status status)
{
	struct ibv_wc wc = { .qp_num = number, .status = status };

	return filter_takes_completion(cq, status == IBV_WC_SUCCESS, &wc);
}

static void nth_body(void)
{
	struct session_filter filter = { .on = 1, .some_qps = 1, .nnths = 1, .nths = { 2 } };
	struct ibv_qp first, second, third;

	begin_filter(&filter);
	filter_note_qp(NULL); /* failed */
	first = make_qp(&a, 16, IBV_QPT_RC);
	second = make_qp(&b, 16, IBV_QPT_RC); /* the same number, another device */
	third = make_qp(&b, 17, IBV_QPT_RC);
	HOLDS(!takes_post(&first) && takes_post(&second) && !takes_post(&third));
	HOLDS(!takes_completion(&cq_a, 16, IBV_WC_SUCCESS) &&
	      takes_completion(&cq_b, 16, IBV_WC_SUCCESS));
	HOLDS(!takes_completion(&cq_b, 17, IBV_WC_SUCCESS) &&
	      !takes_completion(&cq_b, 18, IBV_WC_SUCCESS));
	/* the number is reused, by a queue pair that is not selected */
	make_qp(&b, 16, IBV_QPT_RC);
	HOLDS(!takes_completion(&cq_b, 16, IBV_WC_SUCCESS));
}

TEST(nth_queue_pair_is_known_by_context_and_number)
{
	in_child(nth_body);
}

static void type_body(void)
{
	struct session_filter filter = { .on = 1,
					 .some_qps = 1,
					 .nqps = 1,
					 .qps = { 99 },
					 .qp_types = session_qp_type(IBV_QPT_UD) |
						     session_qp_type(IBV_QPT_DRIVER) };
	struct ibv_qp rc, ud, driver, number;

	begin_filter(&filter);
	rc = make_qp(&a, 16, IBV_QPT_RC);
	ud = make_qp(&a, 17, IBV_QPT_UD);
	driver = make_qp(&a, 0xffffff, IBV_QPT_DRIVER);
	number = (struct ibv_qp){ .context = &b, .qp_num = 99 }; /* its creation was not observed */
	HOLDS(!takes_post(&rc) && takes_post(&ud) && takes_post(&driver) && takes_post(&number));
	HOLDS(takes_completion(&cq_a, 0xffffff, IBV_WC_SUCCESS));
}

TEST(types_and_numbers_add_up)
{
	in_child(type_body);
}

static void whole_body(void)
{
	struct session_filter filter = {
		.on = 1, .some_qps = 1, .nqps = 1, .qps = { 7 }, .device = "a"
	};
	struct ibv_wq wq_a = { .context = &a, .wq_num = 3 }, wq_b = { .context = &b };
	struct ibv_srq srq_a = { .context = &a }, srq_b = { .context = &b };

	begin_filter(&filter);
	/* they belong to no queue pair */
	HOLDS(filter_takes_post(VERB_post_wq_recv, &wq_a) &&
	      !filter_takes_post(VERB_post_wq_recv, &wq_b));
	HOLDS(filter_takes_post(VERB_post_srq_recv, &srq_a) &&
	      !filter_takes_post(VERB_post_srq_recv, &srq_b));
	/* an extended CQ that was not asked for the number */
	HOLDS(takes_completion(&cq_a, 0, IBV_WC_SUCCESS) &&
	      !takes_completion(&cq_b, 0, IBV_WC_SUCCESS));
	/* an error of another queue pair or device is still another's */
	HOLDS(takes_completion(&cq_a, 7, IBV_WC_WR_FLUSH_ERR) &&
	      !takes_completion(&cq_a, 8, IBV_WC_FATAL_ERR));
	HOLDS(!takes_completion(&cq_b, 7, IBV_WC_FATAL_ERR));
}

TEST(what_tells_no_queue_pair_is_kept)
{
	in_child(whole_body);
}
