#include <errno.h>
#include <signal.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

/* One sends; the others have rules. */
struct net {
	struct end from, a, b;
};

enum { BYTES = 64 };

/* clang-format off */
static const uint8_t frame[BYTES] = {
	1, 0x50, 0x56, 0x19, 0x20, 0xa7, 0x24, 0x8a, 7, 0xa5, 0x28, 0xc8,
	0x08, 0x00,
	0x45, 0, 0, 50, 0, 0, 0x40, 0, 64, 17, 0, 0,
	1, 1, 1, 1, 2, 2, 2, 2,
	4, 0xd2, 0x16, 0x2e, 0, 30, 0, 0, 'h', 'e', 'l', 'l', 'o',
};
/* clang-format on */

static struct ibv_qp *raw_qp(struct end *e, enum ibv_qp_state to)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.qp_type = IBV_QPT_RAW_PACKET,
		.cap = { END_DEPTH, END_DEPTH, 2, 2, 0 },
	};
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = ibv_create_qp(e->pd, &attr);

	assert_non_null(qp);
	assert_int_equal(ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PORT), 0);
	assert_int_equal(to_state(qp, IBV_QPS_RTR), 0);
	if (to == IBV_QPS_RTS)
		assert_int_equal(to_state(qp, IBV_QPS_RTS), 0);
	return qp;
}

static void open_raw(struct end *e, enum ibv_qp_state to)
{
	end_open(e);
	assert_int_equal(ibv_destroy_qp(e->qp), 0);
	e->qp = raw_qp(e, to);
}

static int set_up(void **state)
{
	struct net *n = calloc(1, sizeof(*n));

	setenv("VERBATIM_SOFT_LINK", "roce", 1);
	open_raw(&n->from, IBV_QPS_RTS);
	open_raw(&n->a, IBV_QPS_RTR);
	open_raw(&n->b, IBV_QPS_RTR);
	memcpy(n->from.buf, frame, BYTES);
	*state = n;
	return 0;
}

static int tear_down(void **state)
{
	struct net *n = *state;

	end_close(&n->from);
	end_close(&n->a);
	end_close(&n->b);
	free(n);
	unsetenv("VERBATIM_SOFT_LINK");
	return 0;
}

/* The specifications follow the head directly. */
struct rule {
	struct ibv_flow_attr attr;
	uint8_t room[492];
	size_t used;
};

static struct rule rule_of(enum ibv_flow_attr_type type, uint16_t priority)
{
	return (struct rule){ .attr = { .type = type,
					.priority = priority,
					.port = 1,
					.size = sizeof(struct ibv_flow_attr) } };
}

static void add_spec(struct rule *r, const void *spec, size_t size)
{
	memcpy(r->room + r->used, spec, size);
	r->used += size;
	r->attr.size += size;
	r->attr.num_of_specs++;
}

static void match_dst_mac(struct rule *r, const uint8_t *mac)
{
	struct ibv_flow_spec_eth eth = {
		IBV_FLOW_SPEC_ETH, sizeof(eth), { { 0 }, { 0 }, 0, 0 }, { { 0 }, { 0 }, 0, 0 }
	};

	memcpy(eth.val.dst_mac, mac, 6);
	memset(eth.mask.dst_mac, 0xff, 6);
	add_spec(r, &eth, sizeof(eth));
}

static void match_ipv4(struct rule *r, const void *src)
{
	struct ibv_flow_spec_ipv4 ip = {
		IBV_FLOW_SPEC_IPV4, sizeof(ip), { 0, 0 }, { UINT32_MAX, 0 }
	};

	memcpy(&ip.val.src_ip, src, 4);
	add_spec(r, &ip, sizeof(ip));
}

static void match_port(struct rule *r, enum ibv_flow_spec_type type, const void *dst)
{
	struct ibv_flow_spec_tcp_udp port = { type, sizeof(port), { 0, 0 }, { UINT16_MAX, 0 } };

	memcpy(&port.val.dst_port, dst, 2);
	add_spec(r, &port, sizeof(port));
}

static struct ibv_flow *steer_packets(struct end *e, struct rule *r)
{
	struct ibv_flow *flow = ibv_create_flow(e->qp, &r->attr);

	assert_non_null(flow);
	return flow;
}

static void send_frame(struct net *n)
{
	assert_int_equal(send_at(&n->from, 7, 0, BYTES), 0);
	expect_wc(n->from.cq, 7, IBV_WC_SUCCESS);
}

static void expect_frame(struct end *e)
{
	assert_int_equal(expect_wc(e->cq, 9, IBV_WC_SUCCESS).byte_len, BYTES);
	assert_memory_equal(e->buf, frame, BYTES);
	memset(e->buf, 0, BYTES);
	assert_int_equal(recv_at(e, 9, 0, BYTES), 0);
}

static void both_receive(struct net *n)
{
	assert_int_equal(recv_at(&n->a, 9, 0, BYTES), 0);
	assert_int_equal(recv_at(&n->b, 9, 0, BYTES), 0);
}

static void tag_of(struct rule *r, uint32_t tag)
{
	struct ibv_flow_spec_action_tag spec = { IBV_FLOW_SPEC_ACTION_TAG, sizeof(spec), tag };

	add_spec(r, &spec, sizeof(spec));
}

/* The tag of the one packet that has arrived. */
static uint32_t tag_read(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr none = { 0 };
	uint32_t tag;

	assert_int_equal(ibv_start_poll(cq, &none), 0);
	assert_int_equal(cq->status, IBV_WC_SUCCESS);
	assert_false(ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM);
	tag = ibv_wc_read_flow_tag(cq);
	ibv_end_poll(cq);
	return tag;
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, tear_down);

TEST(without_rules_packets_are_lost)
{
	struct net *n = *state;

	both_receive(n);
	send_frame(n);
	expect_none(n->a.cq);
	expect_none(n->b.cq);
}

TEST(each_header_can_be_matched)
{
	struct net *n = *state;
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow *flow;

	match_dst_mac(&r, frame);
	match_ipv4(&r, frame + 26);
	match_port(&r, IBV_FLOW_SPEC_UDP, frame + 36);
	flow = steer_packets(&n->a, &r);
	both_receive(n);
	send_frame(n);
	expect_frame(&n->a);
	expect_none(n->b.cq);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	send_frame(n);
	expect_none(n->a.cq);
}

TEST(what_differs_does_not_match)
{
	struct net *n = *state;
	struct rule mac = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct rule ip = mac, tcp = mac;
	struct ibv_flow *flows[3];
	int i;

	match_dst_mac(&mac, frame + 1);
	match_ipv4(&ip, frame + 27);
	match_port(&tcp, IBV_FLOW_SPEC_TCP, frame + 36);
	flows[0] = steer_packets(&n->a, &mac);
	flows[1] = steer_packets(&n->a, &ip);
	flows[2] = steer_packets(&n->a, &tcp);
	both_receive(n);
	send_frame(n);
	expect_none(n->a.cq);
	for (i = 0; i < 3; i++)
		assert_int_equal(ibv_destroy_flow(flows[i]), 0);
}

TEST(better_priority_takes_the_packet)
{
	struct net *n = *state;
	struct rule first = rule_of(IBV_FLOW_ATTR_NORMAL, 1);
	struct rule second = rule_of(IBV_FLOW_ATTR_NORMAL, 2);
	struct ibv_flow *a, *b;

	match_dst_mac(&first, frame);
	match_dst_mac(&second, frame);
	b = steer_packets(&n->b, &second);
	a = steer_packets(&n->a, &first);
	both_receive(n);
	send_frame(n);
	expect_frame(&n->a);
	expect_none(n->b.cq);
	assert_int_equal(ibv_destroy_flow(a), 0);
	send_frame(n);
	expect_frame(&n->b);
	assert_int_equal(ibv_destroy_flow(b), 0);
}

TEST(packet_passes_on_where_it_is_not_trapped)
{
	struct net *n = *state;
	struct rule first = rule_of(IBV_FLOW_ATTR_NORMAL, 1);
	struct rule second = rule_of(IBV_FLOW_ATTR_NORMAL, 2);
	struct ibv_flow *a, *b;

	first.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	match_dst_mac(&first, frame);
	match_dst_mac(&second, frame);
	a = steer_packets(&n->a, &first);
	b = steer_packets(&n->b, &second);
	both_receive(n);
	send_frame(n);
	expect_frame(&n->a);
	expect_frame(&n->b);
	assert_int_equal(ibv_destroy_flow(a), 0);
	assert_int_equal(ibv_destroy_flow(b), 0);
}

TEST(default_gets_what_nobody_wants)
{
	struct net *n = *state;
	struct rule rest = rule_of(IBV_FLOW_ATTR_MC_DEFAULT, 0);
	struct rule mine = rule_of(IBV_FLOW_ATTR_NORMAL, 9);
	struct ibv_flow *a, *b;

	b = steer_packets(&n->b, &rest);
	both_receive(n);
	send_frame(n);
	expect_frame(&n->b);
	match_dst_mac(&mine, frame);
	a = steer_packets(&n->a, &mine);
	send_frame(n);
	expect_frame(&n->a);
	expect_none(n->b.cq);
	assert_int_equal(ibv_destroy_flow(a), 0);
	n->from.buf[0] = 2; /* no multicast */
	send_frame(n);
	expect_none(n->b.cq);
	assert_int_equal(ibv_destroy_flow(b), 0);
}

TEST(sniffer_gets_all)
{
	struct net *n = *state;
	struct rule all = rule_of(IBV_FLOW_ATTR_SNIFFER, 0);
	struct rule mine = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow *a, *b;

	match_dst_mac(&mine, frame);
	a = steer_packets(&n->a, &mine);
	b = steer_packets(&n->b, &all);
	both_receive(n);
	send_frame(n);
	expect_frame(&n->a);
	expect_frame(&n->b);
	assert_int_equal(ibv_destroy_flow(a), 0);
	assert_int_equal(ibv_destroy_flow(b), 0);
}

TEST(dropped_packets_are_counted)
{
	struct net *n = *state;
	struct ibv_counters_init_attr init = { 0 };
	struct ibv_counter_attach_attr bytes = { .counter_desc = IBV_COUNTER_BYTES, .index = 2 };
	struct ibv_counters *counters;
	struct ibv_flow_spec_counter_action count = { IBV_FLOW_SPEC_ACTION_COUNT, sizeof(count),
						      NULL };
	struct ibv_flow_spec_action_drop drop = { IBV_FLOW_SPEC_ACTION_DROP, sizeof(drop) };
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow *flow;
	uint64_t values[3];

	counters = ibv_create_counters(n->a.context, &init);
	assert_non_null(counters);
	assert_int_equal(ibv_attach_counters_point_flow(
				 counters, &(struct ibv_counter_attach_attr){ 0 }, NULL),
			 0);
	assert_int_equal(ibv_attach_counters_point_flow(counters, &bytes, NULL), 0);
	match_dst_mac(&r, frame);
	count.counters = counters;
	add_spec(&r, &count, sizeof(count));
	add_spec(&r, &drop, sizeof(drop));
	flow = steer_packets(&n->a, &r);
	assert_int_equal(ibv_attach_counters_point_flow(counters, &bytes, NULL), EBUSY);
	assert_int_equal(ibv_destroy_counters(counters), EBUSY);
	both_receive(n);
	send_frame(n);
	send_frame(n);
	expect_none(n->a.cq);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_int_equal(ibv_read_counters(counters, values, 3, 0), 0);
	assert_int_equal(values[0], 2);
	assert_int_equal(values[1], 0);
	assert_int_equal(values[2], 2 * BYTES);
	assert_int_equal(ibv_read_counters(counters, values, 3, 2), EINVAL);
	assert_int_equal(ibv_destroy_counters(counters), 0);
}

TEST(tag_of_the_rule_is_read)
{
	struct net *n = *state;
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 4,
		.wc_flags = IBV_WC_EX_WITH_FLOW_TAG,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(n->a.context, &attr);
	struct ibv_cq *old = n->a.cq;
	struct rule tagged = rule_of(IBV_FLOW_ATTR_NORMAL, 0), plain = tagged;
	struct ibv_flow *flow;

	assert_non_null(cq);
	assert_int_equal(ibv_destroy_qp(n->a.qp), 0);
	n->a.cq = ibv_cq_ex_to_cq(cq);
	n->a.qp = raw_qp(&n->a, IBV_QPS_RTR);
	match_dst_mac(&tagged, frame);
	tag_of(&tagged, 0x1234567);
	match_dst_mac(&plain, frame);
	both_receive(n);

	flow = steer_packets(&n->a, &tagged);
	send_frame(n);
	assert_int_equal(tag_read(cq), 0x1234567);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	flow = steer_packets(&n->a, &plain);
	assert_int_equal(recv_at(&n->a, 9, 0, BYTES), 0);
	send_frame(n);
	assert_int_equal(tag_read(cq), 0);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_int_equal(ibv_destroy_cq(old), 0);
}

static int flow_error(struct end *e, struct rule *r)
{
	errno = 0;
	assert_null(ibv_create_flow(e->qp, &r->attr));
	return errno;
}

TEST(bad_rules_are_refused)
{
	struct net *n = *state;
	struct rule r = rule_of(IBV_FLOW_ATTR_SNIFFER, 0);
	struct rule twice = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow_spec_action_drop short_ipv6 = { IBV_FLOW_SPEC_IPV6, sizeof(short_ipv6) };
	struct ibv_flow_spec_tunnel vxlan = {
		IBV_FLOW_SPEC_VXLAN_TUNNEL, sizeof(vxlan), { 0 }, { 0 }
	};
	struct rule small = twice, tunnel = twice, egress = twice, port = twice;

	r.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	assert_int_equal(flow_error(&n->a, &r), EINVAL);
	r = rule_of(IBV_FLOW_ATTR_ALL_DEFAULT, 0);
	match_dst_mac(&r, frame);
	assert_int_equal(flow_error(&n->a, &r), EINVAL);
	match_dst_mac(&twice, frame);
	match_dst_mac(&twice, frame);
	assert_int_equal(flow_error(&n->a, &twice), EINVAL);
	add_spec(&small, &short_ipv6, sizeof(short_ipv6));
	assert_int_equal(flow_error(&n->a, &small), EINVAL);
	add_spec(&tunnel, &vxlan, sizeof(vxlan));
	assert_int_equal(flow_error(&n->a, &tunnel), EOPNOTSUPP);
	egress.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	assert_int_equal(flow_error(&n->a, &egress), EOPNOTSUPP);
	port.attr.port = 2;
	assert_int_equal(flow_error(&n->a, &port), EINVAL);
}

TEST(queue_pair_with_rules_is_busy)
{
	struct net *n = *state;
	struct rule r = rule_of(IBV_FLOW_ATTR_SNIFFER, 0);
	struct ibv_flow *flows[2] = { steer_packets(&n->a, &r), steer_packets(&n->a, &r) };

	assert_int_equal(ibv_destroy_flow(flows[0]), 0);
	assert_int_equal(ibv_destroy_qp(n->a.qp), EBUSY);
	assert_int_equal(ibv_destroy_flow(flows[1]), 0);
	assert_int_equal(ibv_destroy_qp(n->a.qp), 0);
	n->a.qp = NULL;
}

TEST(bad_packets_do_not_leave)
{
	struct net *n = *state;

	assert_int_equal(send_at(&n->from, 1, 0, 13), 0);
	expect_wc(n->from.cq, 1, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(state_of(n->from.qp), IBV_QPS_SQE);
	assert_int_equal(rdma_at(&n->from, IBV_WR_RDMA_WRITE, 2, BYTES, 0, 0), EINVAL);
}

static void wait_for(int *at, int step)
{
	while (__atomic_load_n(at, __ATOMIC_ACQUIRE) < step)
		usleep(100);
}

/* Sniffs two packets and ends. */
static void sniff_packets(int *at)
{
	struct rule all = rule_of(IBV_FLOW_ATTR_SNIFFER, 0);
	struct ibv_flow *flow;
	struct end e;
	int i;

	setenv("CMOCKA_TEST_ABORT", "1", 1);
	open_raw(&e, IBV_QPS_RTR);
	flow = steer_packets(&e, &all);
	for (i = 0; i < 2; i++) {
		assert_int_equal(recv_at(&e, 9, 0, 9000), 0);
		__atomic_store_n(at, i + 1, __ATOMIC_RELEASE);
		assert_int_equal(expect_wc(e.cq, 9, IBV_WC_SUCCESS).byte_len, i ? 4000 : BYTES);
		assert_memory_equal(e.buf, frame, BYTES);
	}
	assert_int_equal(ibv_destroy_flow(flow), 0);
	end_close(&e);
	exit(0);
}

TEST(packets_reach_other_processes)
{
	struct net *n = *state;
	int *at =
		mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid = fork();

	if (!pid)
		sniff_packets(at);
	wait_for(at, 1);
	send_frame(n);
	wait_for(at, 2);
	assert_int_equal(send_at(&n->from, 8, 0, 4000), 0);
	expect_wc(n->from.cq, 8, IBV_WC_SUCCESS);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* the rule ended with its flow */
	send_frame(n);
	munmap(at, sizeof(*at));
}

/* A process that is killed leaves its rules; they must not matter. */
TEST(rules_of_the_dead_do_not_matter)
{
	struct net *n = *state;
	struct rule keep = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct rule late = rule_of(IBV_FLOW_ATTR_NORMAL, 1);
	int *at =
		mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ibv_flow *flow;
	struct end e;
	pid_t pid;

	match_dst_mac(&keep, frame);
	match_dst_mac(&late, frame);
	pid = fork();
	if (!pid) {
		open_raw(&e, IBV_QPS_RTR);
		steer_packets(&e, &keep);
		__atomic_store_n(at, 1, __ATOMIC_RELEASE);
		for (;;)
			pause();
	}
	wait_for(at, 1);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	flow = steer_packets(&n->a, &late);
	both_receive(n);
	send_frame(n);
	expect_frame(&n->a);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	munmap(at, sizeof(*at));
}

TEST_WITH(raw_packets_need_the_capability, NULL, NULL)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RAW_PACKET };
	struct end e;
	int status;
	pid_t pid = fork();

	if (!pid) {
		setenv("VERBATIM_SOFT_LINK", "roce", 1);
		if (syscall(SYS_capget, &head, data))
			_exit(2);
		data[0].effective &= ~(1u << CAP_NET_RAW);
		if (syscall(SYS_capset, &head, data))
			_exit(3);
		end_open(&e);
		attr.send_cq = attr.recv_cq = e.cq;
		status = ibv_create_qp(e.pd, &attr) || errno != EPERM;
		end_close(&e);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

TEST_WITH(infiniband_carries_no_ethernet, NULL, NULL)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RAW_PACKET };
	struct end e;

	end_open(&e);
	attr.send_cq = attr.recv_cq = e.cq;
	assert_null(ibv_create_qp(e.pd, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	end_close(&e);
}
