/*
 * Programs that were built with other headers: structures that are longer or
 * shorter than ours, and slots of verbs_context that we do not have.
 */
#include <errno.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

enum { MORE = 64, NOISE = 0x5a };

static int set_up(void **state)
{
	struct end *e = calloc(1, sizeof(*e));

	end_open(e);
	*state = e;
	return 0;
}

static int tear_down(void **state)
{
	end_close(*state);
	free(*state);
	return 0;
}

/* @all bytes of which @known are filled; the rest must be zero. */
static void expect_zero(const uint8_t *bytes, size_t known, size_t all)
{
	size_t i;

	for (i = known; i < all; i++)
		assert_int_equal(bytes[i], 0);
}

static void expect_noise(const uint8_t *bytes, size_t from, size_t all)
{
	size_t i;

	for (i = from; i < all; i++)
		assert_int_equal(bytes[i], NOISE);
}

static struct verbs_context *verbs_of(struct end *e)
{
	assert_ptr_equal(e->context->abi_compat, __VERBS_ABI_IS_EXTENDED);
	return (void *)((char *)e->context - offsetof(struct verbs_context, context));
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, tear_down);

TEST(longer_port_attributes_end_in_zeros)
{
	struct end *e = *state;
	uint8_t bytes[sizeof(struct ibv_port_attr) + MORE];

	memset(bytes, NOISE, sizeof(bytes));
	assert_int_equal(verbs_of(e)->query_port(e->context, 1, (void *)bytes, sizeof(bytes)), 0);
	assert_int_equal(((struct ibv_port_attr *)bytes)->state, IBV_PORT_ACTIVE);
	expect_zero(bytes, sizeof(struct ibv_port_attr), sizeof(bytes));
}

TEST(shorter_port_attributes_are_not_exceeded)
{
	struct end *e = *state;
	uint8_t bytes[sizeof(struct ibv_port_attr)];
	size_t old = offsetof(struct ibv_port_attr, port_cap_flags2);

	memset(bytes, NOISE, sizeof(bytes));
	assert_int_equal(verbs_of(e)->query_port(e->context, 1, (void *)bytes, old), 0);
	expect_noise(bytes, old, sizeof(bytes));
}

/* The exported function knows the oldest structure only. */
TEST(old_query_port_writes_the_old_structure)
{
	struct end *e = *state;
	uint8_t bytes[sizeof(struct ibv_port_attr)];

	memset(bytes, NOISE, sizeof(bytes));
	assert_int_equal((ibv_query_port)(e->context, 1, (void *)bytes), 0);
	expect_noise(bytes, offsetof(struct ibv_port_attr, port_cap_flags2), sizeof(bytes));
}

TEST(longer_device_attributes_end_in_zeros)
{
	struct end *e = *state;
	uint8_t bytes[sizeof(struct ibv_device_attr_ex) + MORE];

	memset(bytes, NOISE, sizeof(bytes));
	assert_int_equal(
		verbs_of(e)->query_device_ex(e->context, NULL, (void *)bytes, sizeof(bytes)), 0);
	expect_zero(bytes, sizeof(struct ibv_device_attr_ex), sizeof(bytes));
}

TEST(shorter_device_attributes_are_not_exceeded)
{
	struct end *e = *state;
	uint8_t bytes[sizeof(struct ibv_device_attr_ex)];
	size_t old = offsetof(struct ibv_device_attr_ex, odp_caps);

	memset(bytes, NOISE, sizeof(bytes));
	assert_int_equal(verbs_of(e)->query_device_ex(e->context, NULL, (void *)bytes, old), 0);
	expect_noise(bytes, old, sizeof(bytes));
	/* no version was shorter than the plain structure */
	assert_int_equal(verbs_of(e)->query_device_ex(e->context, NULL, (void *)bytes,
						      sizeof(struct ibv_device_attr) - 8),
			 EINVAL);
}

TEST(gid_entries_have_the_size_of_the_program)
{
	struct end *e = *state;
	size_t size = sizeof(struct ibv_gid_entry) + MORE;
	uint8_t bytes[16 * (sizeof(struct ibv_gid_entry) + MORE)];
	struct ibv_gid_entry *first = (void *)bytes;
	struct ibv_gid_entry *second = (void *)(bytes + size);

	memset(bytes, NOISE, sizeof(bytes));
	assert_true(_ibv_query_gid_table(e->context, (void *)bytes, 16, 0, size) >= 2);
	assert_int_equal(first->gid_index, 0);
	assert_int_equal(second->gid_index, 1);
	expect_zero(bytes, sizeof(*first), size);
	expect_zero((uint8_t *)second, sizeof(*second), size);
	memset(bytes, NOISE, sizeof(bytes));
	assert_int_equal(_ibv_query_gid_ex(e->context, 1, 1, (void *)bytes, 0, size), 0);
	assert_int_equal(first->gid_index, 1);
	expect_zero(bytes, sizeof(*first), size);
}

/*
 * Later headers add slots in front. A program built with one finds a slot by its distance from the
 * end, and checks by verbs_context.sz whether it exists.
 */
TEST(later_slots_are_seen_to_be_missing)
{
	struct end *e = *state;
	struct verbs_context *verbs = verbs_of(e);

	assert_int_equal(verbs->sz, sizeof(*verbs));
	assert_true(verbs->sz < 696); /* as in headers of 2026 */
}

/* No jump to nowhere: each slot within verbs_context.sz leads somewhere. */
TEST(all_slots_are_filled)
{
	struct end *e = *state;
	struct verbs_context *verbs = verbs_of(e);
	void **slot = (void **)&verbs->query_port;
	void **end = (void **)&verbs->_ABI_placeholder3;
	struct ibv_context_ops *ops = &e->context->ops;

	for (; slot < end; slot++)
		if (slot != (void **)&verbs->priv && slot != (void **)&verbs->ABI_placeholder1 &&
		    slot != (void **)&verbs->ABI_placeholder2)
			assert_non_null(*slot);
	assert_non_null(ops->poll_cq);
	assert_non_null(ops->req_notify_cq);
	assert_non_null(ops->post_send);
	assert_non_null(ops->post_recv);
	assert_non_null(ops->post_srq_recv);
	assert_non_null(ops->alloc_mw);
	assert_non_null(ops->bind_mw);
	assert_non_null(ops->dealloc_mw);
}

TEST(parts_of_newer_programs_are_refused)
{
	struct end *e = *state;
	struct ibv_qp_init_attr_ex qp = { .send_cq = e->cq,
					  .recv_cq = e->cq,
					  .qp_type = IBV_QPT_RC,
					  .pd = e->pd,
					  .comp_mask = IBV_QP_INIT_ATTR_PD | 1 << 20 };
	struct ibv_cq_init_attr_ex cq = { .cqe = 1, .comp_mask = 1 << 20 };
	struct ibv_srq_init_attr_ex srq = { .attr = { 1, 1, 0 },
					    .pd = e->pd,
					    .comp_mask = IBV_SRQ_INIT_ATTR_PD | 1 << 20 };
	struct verbs_context *verbs = verbs_of(e);

	errno = 0;
	assert_null(verbs->create_qp_ex(e->context, &qp));
	assert_true(errno == EOPNOTSUPP || errno == EINVAL);
	errno = 0;
	assert_null(verbs->create_cq_ex(e->context, &cq));
	assert_true(errno == EOPNOTSUPP || errno == EINVAL);
	errno = 0;
	assert_null(verbs->create_srq_ex(e->context, &srq));
	assert_true(errno == EOPNOTSUPP || errno == EINVAL);
}
