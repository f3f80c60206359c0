#include <endian.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

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

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, tear_down);

/* A program may clean up before it looks at the errno of the call that failed, as rsockets do. */
TEST(destroying_leaves_errno)
{
	struct end *e = *state;
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(e->pd, &attr);
	struct ibv_cq *cq = ibv_create_cq(e->context, 1, NULL, e->channel, 0);

	assert_non_null(srq);
	assert_non_null(cq);
	errno = ENOMEM;
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_destroy_qp(e->qp), 0);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(errno, ENOMEM);
	e->qp = NULL;
}

TEST(busy_objects_stay)
{
	struct end *e = *state;
	struct ibv_ah_attr attr = { .dlid = 1, .port_num = 1 };
	struct ibv_ah *ah;

	assert_int_equal(ibv_destroy_cq(e->cq), EBUSY);
	assert_int_equal(ibv_destroy_comp_channel(e->channel), EBUSY);
	assert_int_equal(ibv_dereg_mr(e->mr), 0);
	e->mr = NULL;
	assert_int_equal(ibv_dealloc_pd(e->pd), EBUSY);
	assert_int_equal(ibv_destroy_qp(e->qp), 0);
	e->qp = NULL;
	ah = ibv_create_ah(e->pd, &attr);
	assert_non_null(ah);
	assert_int_equal(ibv_dealloc_pd(e->pd), EBUSY);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

TEST(keys_differ_and_change)
{
	struct end *e = *state;
	uint32_t keys[100];
	struct ibv_mr *mr;
	int i, j;

	for (i = 0; i < 100; i += 2) {
		mr = ibv_reg_mr(e->pd, e->buf, 64, 0);
		keys[i] = mr->lkey;
		keys[i + 1] = mr->rkey;
		assert_int_equal(ibv_dereg_mr(mr), 0);
	}
	for (i = 0; i < 100; i++)
		for (j = 0; j < i; j++)
			assert_int_not_equal(keys[i], keys[j]);
}

TEST(queue_pair_numbers_change)
{
	struct end *e = *state;
	uint32_t first = e->qp->qp_num;
	int i;

	for (i = 0; i < 100; i++) {
		assert_int_equal(ibv_destroy_qp(e->qp), 0);
		e->qp = make_qp(e, NULL);
		assert_int_not_equal(e->qp->qp_num, first);
		assert_true(e->qp->qp_num > 1 && e->qp->qp_num < 1 << 24);
	}
}

TEST(unmapped_memory_is_efault)
{
	struct end *e = *state;
	uint8_t *mem = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	errno = 0;
	assert_null(ibv_reg_mr(e->pd, mem, 100, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	mr = ibv_reg_mr(e->pd, mem, 100, 0);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	munmap(mem + 4096, 4096);
	errno = 0;
	assert_null(ibv_reg_mr(e->pd, mem, 5000, 0));
	assert_int_equal(errno, EFAULT);
	munmap(mem, 4096);
}

TEST(remote_write_needs_local_write)
{
	struct end *e = *state;

	errno = 0;
	assert_null(ibv_reg_mr(e->pd, e->buf, 64, IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(ibv_reg_mr(e->pd, e->buf, 64, 1 << 15));
	assert_int_equal(errno, EINVAL);
}

TEST(iova_names_the_memory)
{
	struct end *e = *state;
	struct ibv_mr *mr = ibv_reg_mr_iova(e->pd, e->buf, 64, 0x1000, ALL_ACCESS);

	connect_to(e->qp, e->qp->qp_num);
	memcpy(e->buf + 1000, "iova", 5);
	assert_int_equal(send_wr(e,
				 (struct ibv_send_wr){ .opcode = IBV_WR_RDMA_WRITE,
						       .wr.rdma = { 0x1000 + 10, mr->rkey } },
				 sge_of(e, 1000, 5)),
			 0);
	expect_wc(e->cq, 0, IBV_WC_SUCCESS);
	assert_string_equal((char *)e->buf + 10, "iova");
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

TEST(rereg_moves_a_region)
{
	struct end *e = *state;
	struct ibv_mr *mr = ibv_reg_mr(e->pd, e->buf, 64, 0);
	uint32_t old = mr->rkey;

	assert_int_equal(ibv_rereg_mr(mr,
				      IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS,
				      NULL, e->buf + 64, 32, ALL_ACCESS),
			 0);
	assert_ptr_equal(mr->addr, e->buf + 64);
	assert_int_not_equal(mr->rkey, old);
	assert_int_equal(ibv_rereg_mr(mr, 1 << 7, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

TEST(port_answers_both_structures)
{
	struct end *e = *state;
	struct {
		struct ibv_port_attr attr;
		uint8_t guard;
	} now, old;

	memset(&now, 0xee, sizeof(now));
	memset(&old, 0xee, sizeof(old));
	assert_int_equal(ibv_query_port(e->context, 1, &now.attr), 0);
	assert_int_equal((ibv_query_port)(e->context, 1, (void *)&old.attr), 0);
	assert_int_equal(now.attr.lid, 1);
	assert_int_equal(old.attr.lid, 1);
	assert_int_equal(now.attr.link_layer, IBV_LINK_LAYER_INFINIBAND);
	assert_int_equal(now.guard, 0xee);
	assert_int_equal(old.attr.port_cap_flags2, 0xeeee);
	assert_int_equal(ibv_query_port(e->context, 2, &now.attr), EINVAL);
}

TEST(addresses_are_in_all_tables)
{
	struct end *e = *state;
	struct ibv_gid_entry entry, table[8];
	union ibv_gid gid;
	ssize_t n, i;

	n = ibv_query_gid_table(e->context, table, 8, 0);
	assert_true(n >= 2);
	assert_int_equal(ibv_query_gid_table(e->context, table, 1, 0), -EINVAL);
	for (i = 0; i < n; i++) {
		assert_int_equal(ibv_query_gid(e->context, 1, i, &gid), 0);
		assert_int_equal(ibv_query_gid_ex(e->context, 1, i, &entry, 0), 0);
		assert_memory_equal(&entry, &table[i], sizeof(entry));
		assert_memory_equal(&entry.gid, &gid, sizeof(gid));
	}
	assert_int_equal(ibv_query_gid_ex(e->context, 1, n, &entry, 0), ENODATA);
	assert_int_equal(ibv_query_gid(e->context, 1, 1000, &gid), -1);
	assert_int_equal(ibv_query_gid(e->context, 2, 0, &gid), -1);
}

TEST(roce_has_addresses_and_no_lid)
{
	struct end *e = *state;
	struct ibv_port_attr port;
	struct ibv_gid_entry entry;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.ah_attr = { .port_num = 1, .is_global = 1 },
	};
	int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

	setenv("VERBATIM_SOFT_LINK", "roce", 1);
	assert_int_equal(ibv_query_port(e->context, 1, &port), 0);
	assert_int_equal(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(port.lid, 0);
	assert_int_equal(ibv_query_gid_ex(e->context, 1, 1, &entry, 0), 0);
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(to_init(e->qp, 0), 0);
	assert_int_equal(ibv_modify_qp(e->qp, &attr, rtr), ETIMEDOUT);
	attr.ah_attr.grh.dgid = entry.gid;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, rtr), 0);
	unsetenv("VERBATIM_SOFT_LINK");
}

/* As the kernel: ENODATA within the table, EINVAL beyond. */
TEST(connection_needs_a_source_address)
{
	struct end *e = *state;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.ah_attr = { .port_num = 1, .is_global = 1, .dlid = 1 },
		.alt_ah_attr = { .port_num = 1, .is_global = 1, .dlid = 1 },
		.alt_port_num = 1,
	};
	int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

	assert_int_equal(ibv_query_gid(e->context, 1, 0, &attr.ah_attr.grh.dgid), 0);
	assert_int_equal(to_init(e->qp, 0), 0);
	attr.ah_attr.grh.sgid_index = 7;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, rtr), ENODATA);
	attr.ah_attr.grh.sgid_index = 200;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, rtr), EINVAL);
	attr.ah_attr.grh.sgid_index = 0;
	attr.alt_ah_attr.grh.sgid_index = 7;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, rtr | IBV_QP_ALT_PATH), ENODATA);
	assert_int_equal(ibv_modify_qp(e->qp, &attr, rtr), 0);
}

TEST(ethernet_address_is_resolved)
{
	struct end *e = *state;
	struct ibv_ah_attr attr = { .port_num = 1, .is_global = 1 };
	uint8_t mac[ETHERNET_LL_SIZE] = { 0 };
	uint16_t vid = 1;

	assert_int_equal(ibv_resolve_eth_l2_from_gid(e->context, &attr, mac, &vid), -1);
	assert_int_equal(errno, EOPNOTSUPP); /* InfiniBand */
	setenv("VERBATIM_SOFT_LINK", "roce", 1);
	assert_int_equal(ibv_resolve_eth_l2_from_gid(e->context, &attr, mac, &vid), -1);
	assert_int_equal(errno, ETIMEDOUT);
	assert_int_equal(ibv_query_gid(e->context, 1, 1, &attr.grh.dgid), 0);
	assert_int_equal(ibv_resolve_eth_l2_from_gid(e->context, &attr, mac, &vid), 0);
	/* the address is derived from it */
	assert_int_equal(mac[0] ^ 2, attr.grh.dgid.raw[8]);
	assert_memory_equal(mac + 3, attr.grh.dgid.raw + 13, 3);
	assert_int_equal(vid, 0xffff);
	unsetenv("VERBATIM_SOFT_LINK");
}

TEST(partition_is_the_default)
{
	struct end *e = *state;
	__be16 pkey;

	assert_int_equal(ibv_query_pkey(e->context, 1, 0, &pkey), 0);
	assert_int_equal(be16toh(pkey), 0xffff);
	assert_int_equal(ibv_query_pkey(e->context, 1, 1, &pkey), -1);
	assert_int_equal(ibv_get_pkey_index(e->context, 1, pkey), 0);
	assert_int_equal(ibv_get_pkey_index(e->context, 1, htobe16(5)), -1);
}

TEST(impossible_sizes_are_refused)
{
	struct end *e = *state;
	struct ibv_device_attr dev;
	struct ibv_qp_init_attr attr = { .send_cq = e->cq,
					 .recv_cq = e->cq,
					 .qp_type = IBV_QPT_RC };

	assert_int_equal(ibv_query_device(e->context, &dev), 0);
	attr.cap.max_send_wr = dev.max_qp_wr + 1;
	assert_null(ibv_create_qp(e->pd, &attr));
	assert_int_equal(errno, EINVAL);
	attr.cap.max_send_wr = 1;
	attr.cap.max_send_sge = dev.max_sge + 1;
	assert_null(ibv_create_qp(e->pd, &attr));
	assert_null(ibv_create_cq(e->context, 0, NULL, NULL, 0));
	assert_null(ibv_create_cq(e->context, dev.max_cqe + 1, NULL, NULL, 0));
	assert_null(ibv_create_cq(e->context, 1, NULL, NULL, 1000));
	assert_int_equal(errno, EINVAL);
}

TEST(what_is_not_there_is_eopnotsupp)
{
	struct end *e = *state;

#define EXPECT_NULL(call)                            \
	do {                                         \
		errno = 0;                           \
		assert_null(call);                   \
		assert_int_equal(errno, EOPNOTSUPP); \
	} while (0)
	EXPECT_NULL(ibv_create_wq(e->context, &(struct ibv_wq_init_attr){ 0 }));
	assert_int_equal(ibv_query_ece(e->qp, NULL), EOPNOTSUPP);
}

TEST(extended_device_query_copies_the_smaller)
{
	struct end *e = *state;
	struct ibv_device_attr_ex attr;
	uint8_t more[sizeof(attr) + 64];
	struct verbs_context *verbs = verbs_get_ctx(e->context);

	memset(more, 0xee, sizeof(more));
	assert_int_equal(ibv_query_device_ex(e->context, NULL, &attr), 0);
	assert_true(attr.completion_timestamp_mask != 0);
	assert_int_equal(verbs->query_device_ex(e->context, NULL, (void *)more, sizeof(more)), 0);
	assert_memory_equal(more, &attr, sizeof(attr));
	assert_int_equal(more[sizeof(attr)], 0);
	assert_int_equal(verbs->query_device_ex(e->context, NULL, (void *)more, 16), EINVAL);
}

TEST(fork_world_is_a_knob)
{
	struct end *e = *state;

	(void)e;
	assert_int_equal(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
	assert_int_equal(ibv_fork_init(), 0);
	setenv("VERBATIM_SOFT_FORK", "disabled", 1);
	assert_int_equal(ibv_is_fork_initialized(), IBV_FORK_DISABLED);
	assert_int_equal(ibv_fork_init(), EINVAL); /* a region exists */
	setenv("VERBATIM_SOFT_FORK", "enabled", 1);
	assert_int_equal(ibv_is_fork_initialized(), IBV_FORK_ENABLED);
	unsetenv("VERBATIM_SOFT_FORK");
}

TEST_WITH(context_closes_over_open_objects, NULL, NULL)
{
	static struct end e; /* its contents stay the program's */

	end_open(&e);
	connect_to(e.qp, e.qp->qp_num);
	close(e.channel->fd);
	assert_int_equal(ibv_close_device(e.context), 0);
	munmap(e.buf, END_BYTES);
}

TEST_WITH(strings_and_rates_are_known, NULL, NULL)
{
	assert_string_equal(ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR),
			    "transport retry counter exceeded");
	assert_string_equal(ibv_wc_status_str(1000), "unknown");
	assert_string_equal(ibv_node_type_str(IBV_NODE_CA), "InfiniBand channel adapter");
	assert_string_equal(ibv_event_type_str(IBV_EVENT_COMM_EST), "communication established");
	assert_string_equal(ibv_port_state_str(-1), "unknown");
	assert_int_equal(ibv_rate_to_mult(IBV_RATE_5_GBPS), 2);
	assert_int_equal(mult_to_ibv_rate(2), IBV_RATE_5_GBPS);
	assert_int_equal(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103125);
	assert_int_equal(mbps_to_ibv_rate(103125), IBV_RATE_100_GBPS);
}
