#include <errno.h>
#include <stdbool.h>

#include "tests/shim/soft/datagrams.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

/* The datagram that a receives from b's @sgid_index to its own GID of that index. */
static struct ibv_wc receive_from(struct pair *p, int sgid_index, uint32_t len)
{
	union ibv_gid gid = gid_at(&p->a, sgid_index);
	struct ibv_ah *ah = make_ah(&p->b, global_attr(&gid, sgid_index));
	struct ibv_wc wc;

	memset(p->a.buf, 0xee, 100);
	assert_int_equal(recv_at(&p->a, 1, 0, 1000), 0);
	post_datagram(&p->b, ah, p->a.qp->qp_num, QKEY, 0, len);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	wc = expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH);
	assert_int_equal(wc.byte_len, GRH + len);
	return wc;
}

static void expect_grh(struct pair *p, int sgid_index, uint8_t next_hdr, uint16_t paylen)
{
	union ibv_gid gid = gid_at(&p->a, sgid_index);
	const struct ibv_grh *grh = (void *)p->a.buf;

	assert_int_equal(ntohl(grh->version_tclass_flow), 0x68112345);
	assert_int_equal(ntohs(grh->paylen), paylen);
	assert_int_equal(grh->next_hdr, next_hdr);
	assert_int_equal(grh->hop_limit, 9);
	assert_memory_equal(&grh->sgid, &gid, sizeof(gid));
	assert_memory_equal(&grh->dgid, &gid, sizeof(gid));
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(datagrams_setup, pair_teardown);

TEST(global_address_fills_the_grh)
{
	struct pair *p = *state;
	struct ibv_wc wc = receive_from(p, 1, 6);

	/* BTH 12, DETH 8, padded payload 8, ICRC 4 */
	expect_grh(p, 1, 0x1b, 32);
	assert_int_equal(wc.slid, 1);
	assert_int_equal(wc.sl, 2);
}

TEST(immediate_data_counts_in_the_grh)
{
	struct pair *p = *state;
	union ibv_gid gid = gid_at(&p->a, 0);
	struct ibv_ah *ah = make_ah(&p->b, global_attr(&gid, 0));
	struct ibv_send_wr wr = make_datagram(ah, p->a.qp->qp_num, QKEY, 1);

	wr.opcode = IBV_WR_SEND_WITH_IMM;
	assert_int_equal(recv_at(&p->a, 2, 0, 1000), 0);
	assert_int_equal(send_wr(&p->b, wr, sge_of(&p->b, 0, 4)), 0);
	assert_int_equal(expect_wc(p->a.cq, 2, IBV_WC_SUCCESS).wc_flags,
			 IBV_WC_GRH | IBV_WC_WITH_IMM);
	expect_grh(p, 0, 0x1b, 32);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

TEST_WITH(roce_v1_has_a_grh, datagrams_roce_setup, datagrams_roce_teardown)
{
	struct pair *p = *state;
	struct ibv_wc wc = receive_from(p, 0, 4);

	expect_grh(p, 0, 0x1b, 28);
	assert_int_equal(wc.slid, 0);
	assert_int_equal(wc.sl, 0);
}

TEST_WITH(roce_v2_has_an_ipv6_header, datagrams_roce_setup, datagrams_roce_teardown)
{
	struct pair *p = *state;

	assert_int_equal(receive_from(p, 1, 4).sl, 9);
	expect_grh(p, 1, 17, 28 + 8);
}

static uint16_t sum_of(const uint8_t *ip)
{
	uint32_t sum = 0;
	int i;

	for (i = 0; i < 20; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	return (sum & 0xffff) + (sum >> 16);
}

TEST_WITH(roce_v2_has_an_ipv4_header_at_the_end, datagrams_roce_setup, datagrams_roce_teardown)
{
	static const uint8_t localhost[4] = { 127, 0, 0, 1 };
	struct pair *p = *state;
	const uint8_t *ip = p->a.buf + 20;

	assert_int_equal(receive_from(p, 3, 4).sl, 10);
	assert_int_equal(ip[0], 0x45);
	assert_int_equal(ip[1], 0x81);
	assert_int_equal(ip[2] << 8 | ip[3], 20 + 8 + 28);
	assert_int_equal(ip[8], 9);
	assert_int_equal(ip[9], 17);
	assert_memory_equal(ip + 12, localhost, 4);
	assert_memory_equal(ip + 16, localhost, 4);
	assert_int_equal(sum_of(ip), 0xffff);
}

/* The completion and the GRH suffice to reply to a datagram. */
static void answer_to(struct pair *p, struct ibv_wc wc, bool global)
{
	struct ibv_ah *ah = ibv_create_ah_from_wc(p->a.pd, &wc, (void *)p->a.buf, 1);

	assert_non_null(ah);
	assert_int_equal(recv_at(&p->b, 5, 0, 1000), 0);
	post_datagram(&p->a, ah, wc.src_qp, QKEY, 0, 4);
	wc = expect_wc(p->b.cq, 5, IBV_WC_SUCCESS);
	assert_int_equal(wc.wc_flags, global ? IBV_WC_GRH : 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

TEST(completion_gives_the_way_back)
{
	struct pair *p = *state;
	struct ibv_ah_attr attr;
	union ibv_gid gid = gid_at(&p->a, 1);
	struct ibv_wc wc = receive_from(p, 1, 4);

	assert_int_equal(ibv_init_ah_from_wc(p->a.context, 1, &wc, (void *)p->a.buf, &attr), 0);
	assert_int_equal(attr.dlid, 1);
	assert_int_equal(attr.sl, 2);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(attr.is_global, 1);
	assert_memory_equal(&attr.grh.dgid, &gid, sizeof(gid));
	assert_int_equal(attr.grh.sgid_index, 1);
	assert_int_equal(attr.grh.flow_label, 0x12345);
	assert_int_equal(attr.grh.traffic_class, 0x81);
	assert_int_equal(attr.grh.hop_limit, 9);
	answer_to(p, wc, true);
	wc.wc_flags = 0;
	assert_int_equal(ibv_init_ah_from_wc(p->a.context, 1, &wc, NULL, &attr), 0);
	assert_int_equal(attr.is_global, 0);
	answer_to(p, wc, false);
}

TEST_WITH(completion_gives_the_way_back_on_roce, datagrams_roce_setup, datagrams_roce_teardown)
{
	struct pair *p = *state;
	struct ibv_ah_attr attr;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 4; i++) {
		wc = receive_from(p, i, 4);
		assert_int_equal(ibv_init_ah_from_wc(p->a.context, 1, &wc, (void *)p->a.buf, &attr),
				 0);
		assert_int_equal(attr.grh.sgid_index, i);
		assert_int_equal(attr.grh.traffic_class, 0x81);
		answer_to(p, wc, true);
	}
}

TEST(no_way_back_is_an_error)
{
	struct pair *p = *state;
	struct ibv_ah_attr attr;
	struct ibv_wc wc = receive_from(p, 0, 4);
	struct ibv_grh *grh = (void *)p->a.buf;

	errno = 0;
	assert_int_equal(ibv_init_ah_from_wc(p->a.context, 2, &wc, grh, &attr), -1);
	assert_int_equal(errno, EINVAL);
	grh->dgid.raw[3] ^= 1; /* not ours */
	assert_int_equal(ibv_init_ah_from_wc(p->a.context, 1, &wc, grh, &attr), -1);
	assert_null(ibv_create_ah_from_wc(p->a.pd, &wc, grh, 1));
	memset(grh, 0, sizeof(*grh));
	assert_int_equal(ibv_init_ah_from_wc(p->a.context, 1, &wc, grh, &attr), -1);
}

static void expect_refused(struct pair *p, struct ibv_ah_attr attr, int err)
{
	errno = 0;
	assert_null(ibv_create_ah(p->a.pd, &attr));
	assert_int_equal(errno, err);
}

TEST(addresses_are_checked)
{
	struct pair *p = *state;
	union ibv_gid gid = gid_at(&p->a, 0);
	struct ibv_ah_attr attr = local_attr();

	attr.port_num = 2;
	expect_refused(p, attr, EINVAL);
	attr = local_attr();
	attr.dlid = 0;
	expect_refused(p, attr, EINVAL);
	attr = local_attr();
	attr.sl = 16;
	expect_refused(p, attr, EINVAL);
	expect_refused(p, global_attr(&gid, 200), EINVAL);
	expect_refused(p, global_attr(&gid, 7), ENODATA); /* unset */
}

TEST_WITH(addresses_are_resolved_on_roce, datagrams_roce_setup, datagrams_roce_teardown)
{
	struct pair *p = *state;
	union ibv_gid gid = { .raw = { 0x20, 1, [15] = 9 } };
	union ibv_gid group = { .raw = { 0xff, 0x0e, [15] = 9 } };
	struct ibv_ah_attr attr = local_attr();

	expect_refused(p, attr, EINVAL);
	expect_refused(p, global_attr(&gid, 1), ETIMEDOUT);
	assert_int_equal(ibv_destroy_ah(make_ah(&p->a, global_attr(&group, 1))), 0);
}

TEST(address_of_nobody_loses_datagrams)
{
	struct pair *p = *state;
	union ibv_gid gid = { .raw = { 0x20, 1, [15] = 9 } };
	struct ibv_ah_attr attr = local_attr();
	struct ibv_ah *ah;

	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	attr.dlid = 2;
	ah = make_ah(&p->a, attr);
	post_datagram(&p->a, ah, p->b.qp->qp_num, QKEY, 0, 4);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	ah = make_ah(&p->a, global_attr(&gid, 0));
	post_datagram(&p->a, ah, p->b.qp->qp_num, QKEY, 0, 4);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	expect_none(p->b.cq);
}
