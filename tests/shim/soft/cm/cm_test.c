#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>

#include "shim/soft/cm/cm.h"
#include "shim/soft/cm/cm_event.h"
#include "shim/soft/cm/cm_id.h"
#include "shim/soft/cm/cm_conn.h"
#include "tests/shim/soft/cm/commands.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, tear_down);

TEST(both_sides_learn_of_the_other)
{
	struct ends *e = *state;
	struct rdma_ucm_event_resp event;

	assert_int_equal(connect_with(e->a, e->id, param_of("hello")), 0);
	event = expect_event(e->b, 2, CM_EVENT_CONNECT_REQUEST, 0);
	assert_int_equal(event.param.conn.qp_num, 0x123);
	assert_int_equal(event.param.conn.responder_resources, 2);
	assert_int_equal(event.param.conn.initiator_depth, 3);
	assert_int_equal(event.param.conn.retry_count, 5);
	assert_int_equal(event.param.conn.rnr_retry_count, 6);
	assert_int_equal(event.param.conn.private_data_len, 56);
	assert_memory_equal(event.param.conn.private_data, "hello", 6);
	assert_int_equal(accept_with(e->b, event.id, 3, param_of("welcome")), 0);
	event = expect_event(e->a, 1, CM_EVENT_CONNECT_RESPONSE, 0);
	assert_int_equal(event.param.conn.private_data_len, 196);
	assert_memory_equal(event.param.conn.private_data, "welcome", 8);
	assert_int_equal(ready_qp(e->a, e->id), 0);
	expect_event(e->b, 3, CM_EVENT_ESTABLISHED, 0);
	no_event(e->a);
	no_event(e->b);
}

TEST(addresses_are_those_of_both_ends)
{
	struct ends *e = *state;
	struct rdma_ucm_query_route_resp a, b;
	struct sockaddr_in *src, *dst;

	send_request(e);
	a = query_route(e->a, e->id);
	b = query_route(e->b, e->child);
	src = (void *)&a.src_addr;
	dst = (void *)&a.dst_addr;
	assert_int_equal(ntohs(dst->sin_port), PORT);
	assert_true(ntohs(src->sin_port) >= 32768);
	assert_int_equal(src->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	assert_memory_equal(&a.src_addr, &b.dst_addr, sizeof(*src));
	assert_memory_equal(&a.dst_addr, &b.src_addr, sizeof(*src));
	assert_int_equal(b.num_paths, 1);
	assert_int_equal(be16toh(b.ib_route[0].dlid), 1);
	assert_true(a.node_guid && a.node_guid == b.node_guid);
}

#define RC_RTR                                                                          \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RC_RTS                                                                                 \
	(IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | \
	 IBV_QP_MAX_QP_RD_ATOMIC)

TEST(attributes_are_for_the_other_end)
{
	struct ends *e = *state;
	struct ib_uverbs_qp_attr a, b;

	assert_int_equal(query_attr(e->a, e->id, IBV_QPS_INIT, &a), 0);
	assert_int_equal(a.qp_attr_mask,
			 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	assert_int_equal(a.qp_access_flags, 0);
	assert_int_equal(query_attr(e->a, e->id, IBV_QPS_RTR, &a), -EINVAL);
	establish_ends(e);
	assert_int_equal(query_attr(e->a, e->id, IBV_QPS_INIT, &a), 0);
	assert_int_equal(a.qp_access_flags, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
						    IBV_ACCESS_REMOTE_ATOMIC);
	assert_int_equal(query_attr(e->a, e->id, IBV_QPS_RTR, &a), 0);
	assert_int_equal(a.qp_attr_mask, RC_RTR);
	assert_int_equal(a.dest_qp_num, 0x123);
	assert_int_equal(a.max_dest_rd_atomic, 2);
	assert_int_equal(a.ah_attr.dlid, 1);
	assert_int_equal(query_attr(e->b, e->child, IBV_QPS_RTS, &b), 0);
	assert_int_equal(b.qp_attr_mask, RC_RTS);
	assert_int_equal(b.sq_psn, a.rq_psn);
	assert_int_equal(b.max_rd_atomic, 2);
	assert_int_equal(b.retry_cnt, 5);
	assert_int_equal(b.rnr_retry, 6);
}

/* librdmacm puts the accepting end into RTS before it sends its answer. */
TEST(the_accepting_end_knows_where_to_begin_before_it_answers)
{
	struct ends *e = *state;
	struct ib_uverbs_qp_attr before, a, b;

	send_request(e);
	assert_int_equal(query_attr(e->b, e->child, IBV_QPS_RTS, &before), 0);
	assert_int_equal(accept_with(e->b, e->child, 3, param_of("welcome")), 0);
	expect_event(e->a, 1, CM_EVENT_CONNECT_RESPONSE, 0);
	assert_int_equal(query_attr(e->a, e->id, IBV_QPS_RTR, &a), 0);
	assert_int_equal(before.sq_psn, a.rq_psn);
	assert_int_equal(query_attr(e->a, e->id, IBV_QPS_RTS, &a), 0);
	assert_int_equal(query_attr(e->b, e->child, IBV_QPS_RTR, &b), 0);
	assert_int_equal(a.sq_psn, b.rq_psn);
}

static uint32_t rts_mask(int fd, int qp_type, uint32_t *rtr_mask)
{
	struct ib_uverbs_qp_attr attr;
	struct rdma_ucm_event_resp event;
	int id = try_create(fd, RDMA_PS_IB, qp_type, 50);
	uint32_t mask;

	assert_true(id >= 0);
	assert_int_equal(resolve_ip(fd, id, "127.0.0.1", PORT), 0);
	expect_event(fd, 50, CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(resolve_route(fd, id), 0);
	expect_event(fd, 50, CM_EVENT_ROUTE_RESOLVED, 0);
	assert_int_equal(connect_with(fd, id, param_of("")), 0);
	event = expect_event(fd, 2, CM_EVENT_CONNECT_REQUEST, 0);
	assert_int_equal(accept_with(fd, event.id, 3, param_of("")), 0);
	expect_event(fd, 50, CM_EVENT_CONNECT_RESPONSE, 0);
	assert_int_equal(query_attr(fd, id, IBV_QPS_RTR, &attr), 0);
	*rtr_mask = attr.qp_attr_mask;
	assert_int_equal(query_attr(fd, id, IBV_QPS_RTS, &attr), 0);
	mask = attr.qp_attr_mask;
	if (qp_type == IBV_QPT_XRC_SEND) {
		/* the other end is its receiver */
		assert_int_equal(query_attr(fd, event.id, IBV_QPS_RTR, &attr), 0);
		assert_int_equal(attr.qp_attr_mask, RC_RTR);
		assert_int_equal(query_attr(fd, event.id, IBV_QPS_RTS, &attr), 0);
		assert_int_equal(attr.qp_attr_mask, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT);
	}
	return mask;
}

TEST_WITH(attributes_are_those_of_the_transport, NULL, NULL)
{
	const uint32_t plain = RC_RTR & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	int fd = new_channel();
	uint32_t rtr;

	make_listener(fd, RDMA_PS_IB, 2, 10);
	assert_int_equal(rts_mask(fd, IBV_QPT_RC, &rtr), RC_RTS);
	assert_int_equal(rtr, RC_RTR);
	assert_int_equal(rts_mask(fd, IBV_QPT_UC, &rtr), IBV_QP_STATE | IBV_QP_SQ_PSN);
	assert_int_equal(rtr, plain);
	assert_int_equal(rts_mask(fd, IBV_QPT_XRC_SEND, &rtr), RC_RTS);
	assert_int_equal(rtr, plain);
	close_channel(fd);
}

TEST(both_sides_are_disconnected)
{
	struct ends *e = *state;

	establish_ends(e);
	assert_int_equal(disconnect_id(e->a, e->id), 0);
	expect_event(e->b, 3, CM_EVENT_DISCONNECTED, 0);
	no_event(e->a);
	assert_int_equal(disconnect_id(e->b, e->child), 0);
	expect_event(e->a, 1, CM_EVENT_DISCONNECTED, 0);
	expect_event(e->a, 1, CM_EVENT_TIMEWAIT_EXIT, 0);
	expect_event(e->b, 3, CM_EVENT_TIMEWAIT_EXIT, 0);
}

TEST(disconnects_that_cross_are_one_event_each)
{
	struct ends *e = *state;
	COMMAND(c, rdma_ucm_disconnect);

	establish_ends(e);
	c.cmd.id = e->id;
	assert_int_equal(PUT(e->a, c, DISCONNECT), 0);
	assert_int_equal(disconnect_id(e->b, e->child), 0);
	expect_event(e->a, 1, CM_EVENT_DISCONNECTED, 0);
	expect_event(e->b, 3, CM_EVENT_DISCONNECTED, 0);
}

TEST(destroying_one_end_disconnects_the_other)
{
	struct ends *e = *state;

	establish_ends(e);
	assert_int_equal(destroy_id(e->b, e->child), 1);
	expect_event(e->a, 1, CM_EVENT_DISCONNECTED, 0);
	/* the peer has ended, which counts as a response */
	assert_int_equal(disconnect_id(e->a, e->id), 0);
}

TEST(disconnect_of_an_end_whose_peer_is_gone_is_answered)
{
	struct ends *e = *state;

	establish_ends(e);
	close_channel(e->b);
	assert_int_equal(disconnect_id(e->a, e->id), 0);
	expect_event(e->a, 1, CM_EVENT_DISCONNECTED, 0);
	e->b = new_channel();
}

TEST(rejection_brings_its_data)
{
	struct ends *e = *state;
	struct rdma_ucm_event_resp event;

	send_request(e);
	assert_int_equal(reject_with(e->b, e->child, "no"), 0);
	event = expect_event(e->a, 1, CM_EVENT_REJECTED, 28);
	assert_int_equal(event.param.conn.private_data_len, 148);
	assert_memory_equal(event.param.conn.private_data, "no", 3);
	assert_int_equal(connect_with(e->a, e->id, param_of("")), -EINVAL);
}

TEST(request_that_is_destroyed_is_rejected)
{
	struct ends *e = *state;

	send_request(e);
	assert_int_equal(destroy_id(e->b, e->child), 0);
	expect_event(e->a, 1, CM_EVENT_REJECTED, 28);
}

TEST(request_that_was_never_seen_goes_with_its_listener)
{
	struct ends *e = *state;

	assert_int_equal(connect_with(e->a, e->id, param_of("")), 0);
	assert_int_equal(destroy_id(e->b, e->listener), 0);
	expect_event(e->a, 1, CM_EVENT_REJECTED, 28);
	no_event(e->b);
}

TEST(request_that_was_given_up_cannot_be_accepted)
{
	struct ends *e = *state;

	send_request(e);
	assert_int_equal(destroy_id(e->a, e->id), 2);
	assert_int_equal(accept_with(e->b, e->child, 3, param_of("")), -EINVAL);
	no_event(e->b);
	assert_int_equal(destroy_id(e->b, e->child), 0);
}

TEST(nobody_at_the_port_is_a_rejection)
{
	struct ends *e = *state;
	uint32_t id = resolved_id(e->a, RDMA_PS_TCP, 9, PORT + 1);

	assert_int_equal(connect_with(e->a, id, param_of("")), 0);
	expect_event(e->a, 9, CM_EVENT_REJECTED, 8);
	/* a process that has left is not found */
	assert_int_equal(destroy_id(e->b, e->listener), 0);
	assert_int_equal(connect_with(e->a, e->id, param_of("")), 0);
	expect_event(e->a, 1, CM_EVENT_REJECTED, 8);
}

TEST(request_waits_for_a_late_listener)
{
	struct ends *e = *state;

	assert_int_equal(destroy_id(e->b, e->listener), 0);
	assert_int_equal(connect_with(e->a, e->id, param_of("")), 0);
	assert_int_equal(connect_with(e->a, e->id, param_of("")), -EINVAL);
	e->listener = make_listener(e->b, RDMA_PS_TCP, 2, 1);
	expect_event_turning(e->b, e->a, 2, CM_EVENT_CONNECT_REQUEST);
	no_event(e->a);
}

TEST(request_that_waits_can_be_given_up)
{
	struct ends *e = *state;
	uint32_t datagram = resolved_id(e->a, RDMA_PS_UDP, 9, PORT);
	uint32_t last = resolved_id(e->a, RDMA_PS_TCP, 10, PORT + 1);

	assert_int_equal(destroy_id(e->b, e->listener), 0);
	assert_int_equal(connect_with(e->a, e->id, param_of("")), 0);
	assert_int_equal(connect_with(e->a, datagram, param_of("")), 0);
	assert_int_equal(connect_with(e->a, last, param_of("")), 0);
	assert_int_equal(destroy_id(e->a, e->id), 2);
	assert_int_equal(destroy_id(e->a, datagram), 2);
	e->listener = make_listener(e->b, RDMA_PS_TCP, 2, 1);
	make_listener(e->b, RDMA_PS_UDP, 3, 1);
	/* the last request times out after as long as each other one */
	expect_event(e->a, 10, CM_EVENT_REJECTED, 8);
	no_event(e->a);
	no_event(e->b);
}

TEST(full_backlog_rejects)
{
	struct ends *e = *state;
	uint32_t second, third;

	assert_int_equal(destroy_id(e->b, e->listener), 0);
	e->listener = make_listener(e->b, RDMA_PS_TCP, 2, 1);
	second = resolved_id(e->a, RDMA_PS_TCP, 5, PORT);
	third = resolved_id(e->a, RDMA_PS_TCP, 6, PORT);
	assert_int_equal(connect_with(e->a, e->id, param_of("")), 0);
	assert_int_equal(connect_with(e->a, second, param_of("")), 0);
	expect_event(e->a, 5, CM_EVENT_REJECTED, 28);
	/* an accepted one makes room */
	expect_event(e->b, 2, CM_EVENT_CONNECT_REQUEST, 0);
	assert_int_equal(connect_with(e->a, third, param_of("")), 0);
	expect_event(e->b, 2, CM_EVENT_CONNECT_REQUEST, 0);
}

TEST(private_data_has_its_limits)
{
	struct ends *e = *state;
	struct rdma_ucm_conn_param param = param_of("");

	param.private_data_len = 57;
	assert_int_equal(connect_with(e->a, e->id, param), -EINVAL);
	send_request(e);
	param.private_data_len = 197;
	assert_int_equal(accept_with(e->b, e->child, 3, param), -EINVAL);
	param.private_data_len = 196;
	assert_int_equal(accept_with(e->b, e->child, 3, param), 0);
}

TEST(commands_in_a_wrong_state_are_refused)
{
	struct ends *e = *state;
	uint32_t idle = create_id(e->a, RDMA_PS_TCP, 7);

	assert_int_equal(connect_with(e->a, idle, param_of("")), -EINVAL);
	assert_int_equal(resolve_route(e->a, idle), -EINVAL);
	assert_int_equal(accept_with(e->a, idle, 7, param_of("")), -EINVAL);
	assert_int_equal(reject_with(e->a, idle, ""), -EINVAL);
	assert_int_equal(disconnect_id(e->a, idle), -EINVAL);
	assert_int_equal(listen_at(e->b, e->listener, 1), -EINVAL);
	assert_int_equal(bind_ip(e->b, e->listener, "0.0.0.0", 1), -EINVAL);
	assert_int_equal(destroy_id(e->a, 4711), -ENOENT);
	assert_int_equal(destroy_id(e->a, e->listener), -EINVAL);
}

TEST(event_says_how_many_were_reported)
{
	struct ends *e = *state;

	establish_ends(e);
	assert_int_equal(disconnect_id(e->b, e->child), 0);
	expect_event(e->a, 1, CM_EVENT_DISCONNECTED, 0);
	/* two to resolve, the response, the end */
	assert_int_equal(destroy_id(e->a, e->id), 4);
	assert_int_equal(destroy_id(e->b, e->listener), 1);
	/* established; its end was not read */
	assert_int_equal(destroy_id(e->b, e->child), 1);
	no_event(e->b);
}

static int migrate_id(int to, int from, uint32_t id)
{
	COMMAND(c, rdma_ucm_migrate_id);
	struct rdma_ucm_migrate_resp resp;
	int err;

	c.cmd.id = id;
	c.cmd.fd = from;
	err = ASK(to, c, MIGRATE_ID, &resp);
	return err < 0 ? err : (int)resp.events_reported;
}

TEST(events_follow_an_id_to_its_channel)
{
	struct ends *e = *state;
	int c = new_channel();

	send_request(e);
	assert_int_equal(migrate_id(c, e->b, e->child), 0);
	assert_int_equal(migrate_id(c, e->b, e->child), -EINVAL);
	assert_int_equal(accept_with(c, e->child, 3, param_of("")), 0);
	expect_event(e->a, 1, CM_EVENT_CONNECT_RESPONSE, 0);
	assert_int_equal(ready_qp(e->a, e->id), 0);
	expect_event(c, 3, CM_EVENT_ESTABLISHED, 0);
	/* unread events move as well */
	assert_int_equal(disconnect_id(e->a, e->id), 0);
	assert_int_equal(migrate_id(e->b, c, e->child), 1);
	no_event(c);
	expect_event(e->b, 3, CM_EVENT_DISCONNECTED, 0);
	close_channel(c);
}

TEST(notification_establishes_before_the_message)
{
	struct ends *e = *state;
	COMMAND(c, rdma_ucm_notify);
	struct rdma_ucm_event_resp event;

	send_request(e);
	c.cmd.id = e->child;
	c.cmd.event = IBV_EVENT_COMM_EST;
	assert_int_equal(PUT(e->b, c, NOTIFY), -EINVAL);
	assert_int_equal(accept_with(e->b, e->child, 3, param_of("")), 0);
	assert_int_equal(PUT(e->b, c, NOTIFY), 0);
	expect_event(e->b, 3, CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(PUT(e->b, c, NOTIFY), -EISCONN);
	expect_event(e->a, 1, CM_EVENT_CONNECT_RESPONSE, 0);
	assert_int_equal(ready_qp(e->a, e->id), 0);
	/* the message itself arrives, and is ignored */
	assert_int_equal(get_event(e->b, &event), -EAGAIN);
	no_event(e->b);
}

TEST(silent_listener_is_unreachable_in_the_end)
{
	struct ends *e = *state;
	uint64_t before = cm_response_ns;

	cm_response_ns = 1000000;
	assert_int_equal(connect_with(e->a, e->id, param_of("")), 0);
	expect_event(e->a, 1, CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	cm_response_ns = before;
}

TEST(silent_peer_is_disconnected_in_the_end)
{
	struct ends *e = *state;
	uint64_t before = cm_response_ns;

	establish_ends(e);
	cm_response_ns = 1000000;
	assert_int_equal(disconnect_id(e->a, e->id), 0);
	expect_event(e->a, 1, CM_EVENT_DISCONNECTED, -ETIMEDOUT);
	cm_response_ns = before;
}

TEST_WITH(datagram_peer_is_found, setup_udp, tear_down)
{
	struct ends *e = *state;
	struct rdma_ucm_event_resp event;
	struct ib_uverbs_qp_attr attr;

	assert_int_equal(query_attr(e->a, e->id, IBV_QPS_INIT, &attr), 0);
	assert_int_equal(attr.qp_attr_mask,
			 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	assert_int_equal(attr.qkey, CM_UDP_QKEY);
	assert_int_equal(connect_with(e->a, e->id, param_of("where")), 0);
	event = expect_event(e->b, 2, CM_EVENT_CONNECT_REQUEST, 0);
	assert_int_equal(event.param.ud.private_data_len, 180);
	assert_memory_equal(event.param.ud.private_data, "where", 6);
	assert_int_equal(accept_with(e->b, event.id, 3, param_of("here")), 0);
	event = expect_event(e->a, 1, CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(event.param.ud.qp_num, 0x123);
	assert_int_equal(event.param.ud.qkey, CM_UDP_QKEY);
	assert_int_equal(event.param.ud.ah_attr.dlid, 1);
	assert_int_equal(event.param.ud.ah_attr.port_num, 1);
	assert_memory_equal(event.param.ud.private_data, "here", 5);
	no_event(e->b);
}

TEST_WITH(datagram_peer_that_rejects_is_unreachable, setup_udp, tear_down)
{
	struct ends *e = *state;
	uint32_t other;

	send_request(e);
	assert_int_equal(reject_with(e->b, e->child, ""), 0);
	expect_event(e->a, 1, CM_EVENT_UNREACHABLE, 2);
	other = resolved_id(e->a, RDMA_PS_UDP, 4, PORT + 1);
	assert_int_equal(connect_with(e->a, other, param_of("")), 0);
	expect_event(e->a, 4, CM_EVENT_UNREACHABLE, 1); /* nobody listens */
}

TEST_WITH(group_has_the_kernels_gid, setup_udp, tear_down)
{
	static const uint8_t ip4[] = { 0xff, 0x12, 0x40, 1, 0xff, 0xff, 0, 0,
				       0,    0,    0,    0, 15,   1,    2, 3 };
	static const uint8_t ip6[] = { 0xff, 0x12, 0x60, 1, 0xff, 0xff, 0,    0,
				       0,    0,    0,    0, 0,    0,    0x12, 0x34 };
	struct ends *e = *state;
	struct rdma_ucm_event_resp event;
	uint32_t group;

	event = join_group(e->a, e->id, "239.1.2.3", &group);
	assert_memory_equal(event.param.ud.ah_attr.grh.dgid, ip4, 16);
	assert_int_equal(event.param.ud.qp_num, 0xffffff);
	assert_int_equal(event.param.ud.qkey, CM_UDP_QKEY);
	assert_true(event.param.ud.ah_attr.dlid >= 0xc000);
	assert_int_equal(leave_group(e->a, group), 1);
	assert_int_equal(leave_group(e->a, group), -ENOENT);
	event = join_group(e->a, e->id, "ff02::1234", &group);
	assert_memory_equal(event.param.ud.ah_attr.grh.dgid, ip6, 16);
}

TEST_WITH(address_in_use_is_refused, NULL, NULL)
{
	int fd = new_channel();
	uint32_t a = create_id(fd, RDMA_PS_TCP, 1), b = create_id(fd, RDMA_PS_TCP, 2);
	uint32_t udp = create_id(fd, RDMA_PS_UDP, 3);

	assert_int_equal(bind_ip(fd, a, "127.0.0.1", PORT), 0);
	assert_int_equal(bind_ip(fd, b, "0.0.0.0", PORT), -EADDRINUSE);
	assert_int_equal(bind_ip(fd, b, "127.0.0.1", PORT), -EADDRINUSE);
	assert_int_equal(bind_ip(fd, udp, "127.0.0.1", PORT), 0);
	assert_int_equal(bind_ip(fd, b, "127.0.0.2", PORT), 0);
	destroy_id(fd, a);
	a = create_id(fd, RDMA_PS_TCP, 1);
	assert_int_equal(bind_ip(fd, a, "127.0.0.1", PORT), 0);
	close_channel(fd);
}

TEST_WITH(reuse_shares_a_port_until_one_listens, NULL, NULL)
{
	int fd = new_channel(), one = 1;
	uint32_t a = create_id(fd, RDMA_PS_TCP, 1), b = create_id(fd, RDMA_PS_TCP, 2);

	assert_int_equal(set_option(fd, a, RDMA_OPTION_ID_REUSEADDR, &one, 4), 0);
	assert_int_equal(set_option(fd, b, RDMA_OPTION_ID_REUSEADDR, &one, 4), 0);
	assert_int_equal(bind_ip(fd, a, "127.0.0.1", PORT), 0);
	assert_int_equal(bind_ip(fd, b, "127.0.0.1", PORT), 0);
	assert_int_equal(listen_at(fd, a, 1), -EADDRINUSE);
	destroy_id(fd, b);
	assert_int_equal(listen_at(fd, a, 1), 0);
	close_channel(fd);
}

TEST_WITH(reuse_may_be_asked_for_when_bound, NULL, NULL)
{
	int fd = new_channel(), one = 1, zero = 0;
	uint32_t a = create_id(fd, RDMA_PS_TCP, 1), b = create_id(fd, RDMA_PS_TCP, 2);

	assert_int_equal(bind_ip(fd, a, "127.0.0.1", PORT), 0);
	assert_int_equal(set_option(fd, b, RDMA_OPTION_ID_REUSEADDR, &one, 4), 0);
	assert_int_equal(bind_ip(fd, b, "127.0.0.1", PORT), -EADDRINUSE);
	assert_int_equal(set_option(fd, a, RDMA_OPTION_ID_REUSEADDR, &one, 4), 0);
	assert_int_equal(bind_ip(fd, b, "127.0.0.1", PORT), 0);
	assert_int_equal(set_option(fd, a, RDMA_OPTION_ID_REUSEADDR, &zero, 4), -EINVAL);
	close_channel(fd);
}

TEST_WITH(options_are_checked, NULL, NULL)
{
	int fd = new_channel(), number = 1;
	uint32_t id = create_id(fd, RDMA_PS_TCP, 1);
	uint8_t byte = 14;

	assert_int_equal(set_option(fd, id, RDMA_OPTION_ID_TOS, &byte, 1), 0);
	assert_int_equal(set_option(fd, id, RDMA_OPTION_ID_TOS, &number, 4), -EINVAL);
	assert_int_equal(set_option(fd, id, RDMA_OPTION_ID_AFONLY, &number, 4), 0);
	assert_int_equal(set_option(fd, id, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1), 0);
	byte = 32;
	assert_int_equal(set_option(fd, id, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1), -EINVAL);
	assert_int_equal(set_option(fd, id, 99, &number, 4), -ENOSYS);
	close_channel(fd);
}

TEST_WITH(ipv6_wildcard_hears_ipv4_unless_told, NULL, NULL)
{
	int fd = new_channel(), one = 1;
	uint32_t six = create_id(fd, RDMA_PS_TCP, 1), four;

	assert_int_equal(bind_ip(fd, six, "::", PORT), 0);
	assert_int_equal(listen_at(fd, six, 1), 0);
	four = create_id(fd, RDMA_PS_TCP, 2);
	assert_int_equal(bind_ip(fd, four, "0.0.0.0", PORT), -EADDRINUSE);
	destroy_id(fd, four);
	four = resolved_id(fd, RDMA_PS_TCP, 2, PORT);
	assert_int_equal(connect_with(fd, four, param_of("")), 0);
	expect_event(fd, 1, CM_EVENT_CONNECT_REQUEST, 0);
	destroy_id(fd, six);

	six = create_id(fd, RDMA_PS_TCP, 1);
	assert_int_equal(set_option(fd, six, RDMA_OPTION_ID_AFONLY, &one, 4), 0);
	assert_int_equal(bind_ip(fd, six, "::", PORT), 0);
	assert_int_equal(listen_at(fd, six, 1), 0);
	four = resolved_id(fd, RDMA_PS_TCP, 3, PORT);
	assert_int_equal(connect_with(fd, four, param_of("")), 0);
	expect_event(fd, 3, CM_EVENT_REJECTED, 8);
	close_channel(fd);
}

TEST_WITH(address_of_another_machine_is_refused, NULL, NULL)
{
	int fd = new_channel();
	uint32_t id = create_id(fd, RDMA_PS_TCP, 1);

	assert_int_equal(bind_ip(fd, id, "192.0.2.1", PORT), -EADDRNOTAVAIL);
	assert_int_equal(resolve_ip(fd, id, "192.0.2.1", PORT), 0);
	expect_event(fd, 1, CM_EVENT_ADDR_ERROR, -EHOSTUNREACH);
	/* another address may do */
	assert_int_equal(resolve_ip(fd, id, "127.0.0.1", PORT), 0);
	expect_event(fd, 1, CM_EVENT_ADDR_RESOLVED, 0);
	close_channel(fd);
}

TEST_WITH(af_ib_is_declined, NULL, NULL)
{
	int fd = new_channel();
	uint32_t id = create_id(fd, RDMA_PS_IB, 1);
	COMMAND(c, rdma_ucm_bind);

	c.cmd.id = id;
	c.cmd.addr_size = 48;
	c.cmd.addr.ss_family = 27; /* AF_IB */
	assert_int_equal(PUT(fd, c, BIND), -EAFNOSUPPORT);
	close_channel(fd);
}

TEST_WITH(malformed_commands_are_refused, NULL, NULL)
{
	int fd = new_channel();
	COMMAND(c, rdma_ucm_create_id);
	struct rdma_ucm_create_id_resp resp;
	uint32_t word = 0;

	c.cmd.response = (uintptr_t)&resp;
	c.cmd.ps = RDMA_PS_TCP;
	assert_int_equal(cm_write(fd, &word, sizeof(word)), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(put_command(fd, &c, sizeof(c), 99, sizeof(resp)), -EINVAL);
	assert_int_equal(put_command(fd, &c, sizeof(c), RDMA_USER_CM_CMD_CREATE_ID, 0), -ENOSPC);
	assert_int_equal(
		put_command(fd, &c, sizeof(c) - 8, RDMA_USER_CM_CMD_CREATE_ID, sizeof(resp)),
		-EINVAL);
	assert_int_equal(put_command(fd, &c, sizeof(c), RDMA_USER_CM_CMD_GET_OPTION, sizeof(resp)),
			 -ENOSYS);
	assert_int_equal(try_create(fd, 0x1234, IBV_QPT_RC, 1), -EINVAL);
	close_channel(fd);
}

/* Reserved members are 0, and lengths are at most those of the members. */
TEST_WITH(members_of_commands_are_checked, NULL, NULL)
{
	int fd = new_channel();
	uint32_t id = create_id(fd, RDMA_PS_UDP, 1);
	const uint16_t most = sizeof(struct __kernel_sockaddr_storage);
	struct rdma_ucm_create_id_resp resp;
	COMMAND(bind, rdma_ucm_bind);
	COMMAND(resolve, rdma_ucm_resolve_addr);
	COMMAND(join, rdma_ucm_join_mcast);

	bind.cmd.id = resolve.cmd.id = join.cmd.id = id;
	bind.cmd.addr_size = most + 1;
	assert_int_equal(PUT(fd, bind, BIND), -EINVAL);
	bind.cmd.addr_size = most;
	assert_int_equal(PUT(fd, bind, BIND), -EAFNOSUPPORT);
	bind.cmd.reserved = 1;
	assert_int_equal(PUT(fd, bind, BIND), -EINVAL);
	resolve.cmd.src_size = resolve.cmd.dst_size = most;
	assert_int_equal(PUT(fd, resolve, RESOLVE_ADDR), -EAFNOSUPPORT);
	resolve.cmd.src_size = most + 1;
	assert_int_equal(PUT(fd, resolve, RESOLVE_ADDR), -EINVAL);
	resolve.cmd.src_size = most;
	resolve.cmd.dst_size = most + 1;
	assert_int_equal(PUT(fd, resolve, RESOLVE_ADDR), -EINVAL);
	resolve.cmd.dst_size = most;
	resolve.cmd.reserved = 1;
	assert_int_equal(PUT(fd, resolve, RESOLVE_ADDR), -EINVAL);
	join.cmd.addr_size = most;
	assert_int_equal(ASK(fd, join, JOIN_MCAST, &resp), -EAFNOSUPPORT);
	join.cmd.addr_size = most + 1;
	assert_int_equal(ASK(fd, join, JOIN_MCAST, &resp), -EINVAL);
	join.cmd.addr_size = most;
	join.cmd.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
	assert_int_equal(ASK(fd, join, JOIN_MCAST, &resp), -EINVAL);
	close_channel(fd);
}

/* Garbage in the mailbox is passed over, whatever its length. */
TEST(garbage_of_peers_is_passed_over)
{
	struct ends *e = *state;
	char path[512], garbage[333];
	struct rdma_ucm_event_resp event;
	struct dirent *entry;
	DIR *dir = opendir(fabric_dir);
	int fd, n = 0;

	memset(garbage, 'x', sizeof(garbage));
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, "cmid.", 5))
			continue;
		snprintf(path, sizeof(path), "%s/%s", fabric_dir, entry->d_name);
		fd = open(path, O_RDWR | O_NONBLOCK);
		assert_int_equal(write(fd, garbage, sizeof(garbage)), sizeof(garbage));
		close(fd);
		n++;
	}
	closedir(dir);
	assert_int_equal(n, 2);
	assert_int_equal(get_event(e->a, &event), -EAGAIN);
	assert_int_equal(get_event(e->b, &event), -EAGAIN);
	establish_ends(e);
}

enum { CLOSES = 300 };

struct waiter {
	int fd;
	int events; /* the number of its events */
	int us;     /* between them */
	struct rdma_ucm_event_resp event;
};

static void *wait_blocking(void *arg)
{
	struct waiter *w = arg;

	assert_int_equal(get_event(w->fd, &w->event), 0);
	return NULL;
}

TEST(blocked_thread_gets_its_event)
{
	struct ends *e = *state;
	struct waiter w = { .fd = e->b };
	pthread_t thread;

	assert_int_equal(fcntl(e->b, F_SETFL, 0), 0);
	pthread_create(&thread, NULL, wait_blocking, &w);
	assert_int_equal(connect_with(e->a, e->id, param_of("")), 0);
	pthread_join(thread, NULL);
	assert_int_equal(w.event.event, CM_EVENT_CONNECT_REQUEST);
}

TEST(blocked_thread_can_be_cancelled)
{
	struct ends *e = *state;
	struct waiter w = { .fd = e->b };
	pthread_t thread;
	void *result;

	assert_int_equal(fcntl(e->b, F_SETFL, 0), 0);
	pthread_create(&thread, NULL, wait_blocking, &w);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(fcntl(e->b, F_SETFL, O_NONBLOCK), 0);
	establish_ends(e);
}

static void spin_for(int us)
{
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += us * 1000;
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - end.tv_sec) * 1000000000 + now.tv_nsec < end.tv_nsec);
}

/* The thread asks for the next event while its channel is closed, or afterwards: it gets EBADF. */
static void *wait_for_ever(void *arg)
{
	struct waiter *w = arg;

	assert_int_equal(get_event(w->fd, &w->event), 0);
	__atomic_store_n(&w->events, 1, __ATOMIC_RELEASE);
	spin_for(w->us);
	assert_int_equal(get_event(w->fd, &w->event), -EBADF);
	return NULL;
}

/* rping ends with a thread in rdma_get_cm_event(), and would report any other error. */
TEST_WITH(end_of_a_channel_wakes_no_thread, NULL, NULL)
{
	struct waiter w;
	pthread_t thread;
	int i;

	for (i = 0; i < CLOSES; i++) {
		w = (struct waiter){ .fd = new_channel(), .us = 200 + i % 128 };
		assert_int_equal(fcntl(w.fd, F_SETFL, 0), 0);
		resolve_ip(w.fd, create_id(w.fd, RDMA_PS_TCP, 1), "127.0.0.1", PORT);
		pthread_create(&thread, NULL, wait_for_ever, &w);
		while (!__atomic_load_n(&w.events, __ATOMIC_ACQUIRE))
			sched_yield();
		close_channel(w.fd);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
	}
}

static void *wait_until_interrupted(void *arg)
{
	struct waiter *w = arg;

	while (!get_event(w->fd, &w->event))
		__atomic_add_fetch(&w->events, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void ignore_signal(int signal)
{
	(void)signal;
}

/* As in the kernel, where the thread holds the file. */
TEST(thread_sleeps_on_when_its_channel_is_closed)
{
	struct ends *e = *state;
	struct sigaction act = { .sa_handler = ignore_signal };
	struct waiter w = { .fd = e->a };
	pthread_t thread;
	int before = e->a;

	sigaction(SIGUSR1, &act, NULL);
	assert_int_equal(fcntl(e->a, F_SETFL, 0), 0);
	pthread_create(&thread, NULL, wait_until_interrupted, &w);
	send_request(e);
	assert_int_equal(accept_with(e->b, e->child, 3, param_of("")), 0);
	/* it has the response, or will: its channel is freed when the call returns */
	while (!__atomic_load_n(&w.events, __ATOMIC_ACQUIRE))
		sched_yield();
	close_channel(e->a);
	e->a = new_channel();
	assert_int_equal(e->a, before); /* a new one of the same number */
	e->id = resolved_id(e->a, RDMA_PS_TCP, 1, PORT);
	while (pthread_tryjoin_np(thread, NULL) == EBUSY)
		pthread_kill(thread, SIGUSR1);
	expect_event(e->b, 3, CM_EVENT_REJECTED, 28);
}

TEST(descriptor_works_in_an_epoll)
{
	struct ends *e = *state;
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(0);

	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, e->b, &event), 0);
	assert_int_equal(epoll_wait(ep, &event, 1, 0), 0);
	assert_int_equal(connect_with(e->a, e->id, param_of("")), 0);
	assert_int_equal(epoll_wait(ep, &event, 1, WAIT_MS), 1);
	expect_event(e->b, 2, CM_EVENT_CONNECT_REQUEST, 0);
	assert_int_equal(epoll_wait(ep, &event, 1, 0), 0);
	close(ep);
}

TEST(blocked_thread_sleeps_on_after_a_signal_that_restarts)
{
	struct ends *e = *state;
	struct sigaction act = { .sa_handler = ignore_signal, .sa_flags = SA_RESTART };
	struct waiter w = { .fd = e->b };
	pthread_t thread;
	int i;

	sigaction(SIGUSR1, &act, NULL);
	assert_int_equal(fcntl(e->b, F_SETFL, 0), 0);
	pthread_create(&thread, NULL, wait_blocking, &w);
	for (i = 0; i < 100; i++)
		pthread_kill(thread, SIGUSR1);
	assert_int_equal(connect_with(e->a, e->id, param_of("")), 0);
	pthread_join(thread, NULL);
	assert_int_equal(w.event.event, CM_EVENT_CONNECT_REQUEST);
}

static uint32_t serial_of(uint32_t handle)
{
	uint32_t serial;

	for (serial = 1; serial < 100000; serial++)
		if (cm_id_by_serial(serial) && cm_id_by_serial(serial)->handle == handle)
			return serial;
	return 0;
}

/* The listener's mailbox, with the smallest possible size. */
static int shrink_mailbox(uint32_t serial)
{
	char path[512], want[32];
	struct dirent *entry;
	DIR *dir = opendir(fabric_dir);
	int fd = -1;

	snprintf(want, sizeof(want), ".%u", serial);
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, "cmid.", 5) || strcmp(strrchr(entry->d_name, '.'), want))
			continue;
		assert_int_equal(fd, -1);
		snprintf(path, sizeof(path), "%s/%s", fabric_dir, entry->d_name);
		fd = open(path, O_RDWR | O_NONBLOCK);
		assert_true(fcntl(fd, F_SETPIPE_SZ, 4096) > 0);
	}
	closedir(dir);
	assert_true(fd >= 0);
	return fd;
}

enum { FLOOD = 40 }; /* more than fit into a page */

TEST(full_mailbox_is_tried_again)
{
	struct ends *e = *state;
	uint32_t id[FLOOD], i;

	close(shrink_mailbox(serial_of(e->listener)));
	assert_int_equal(destroy_id(e->a, e->id), 2);
	assert_int_equal(destroy_id(e->b, e->listener), 0);
	e->listener = make_listener(e->b, RDMA_PS_TCP, 2, FLOOD);
	for (i = 0; i < FLOOD; i++) {
		id[i] = resolved_id(e->a, RDMA_PS_TCP, 100 + i, PORT);
		assert_int_equal(connect_with(e->a, id[i], param_of("")), 0);
	}
	for (i = 0; i < FLOOD; i++)
		expect_event_turning(e->b, e->a, 2, CM_EVENT_CONNECT_REQUEST);
}

TEST(end_is_notified_when_there_is_room)
{
	struct ends *e = *state;
	struct rdma_ucm_event_resp event;
	char garbage[4096] = "";
	int box;

	establish_ends(e);
	box = shrink_mailbox(serial_of(e->child));
	while (write(box, garbage, sizeof(garbage)) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	close(box);
	assert_true(destroy_id(e->a, e->id) > 0);
	assert_int_equal(get_event(e->b, &event), -EAGAIN);
	expect_event_turning(e->b, e->a, 3, CM_EVENT_DISCONNECTED);
}

enum { MANY = 200 };

TEST(many_connections_through_one_listener)
{
	struct ends *e = *state;
	struct rdma_ucm_event_resp event;
	uint32_t id[MANY], i;

	assert_int_equal(destroy_id(e->b, e->listener), 0);
	e->listener = make_listener(e->b, RDMA_PS_TCP, 2, MANY);
	for (i = 0; i < MANY; i++)
		id[i] = resolved_id(e->a, RDMA_PS_TCP, 1000 + i, PORT);
	for (i = 0; i < MANY; i++)
		assert_int_equal(connect_with(e->a, id[i], param_of("")), 0);
	for (i = 0; i < MANY; i++) {
		event = expect_event(e->b, 2, CM_EVENT_CONNECT_REQUEST, 0);
		assert_int_equal(accept_with(e->b, event.id, 2000 + i, param_of("")), 0);
	}
	for (i = 0; i < MANY; i++) {
		expect_event(e->a, 1000 + i, CM_EVENT_CONNECT_RESPONSE, 0);
		assert_int_equal(ready_qp(e->a, id[i]), 0);
	}
	for (i = 0; i < MANY; i++)
		expect_event(e->b, 2000 + i, CM_EVENT_ESTABLISHED, 0);
}

enum { THREADS = 4, ROUNDS = 30 };

/* A server and its client, over and over, on channels of the thread. */
static void *connect_and_leave(void *arg)
{
	uint16_t port = PORT + (uintptr_t)arg;
	struct ends e;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		e.a = new_channel();
		e.b = new_channel();
		e.listener = create_id(e.b, RDMA_PS_TCP, 2);
		assert_int_equal(bind_ip(e.b, e.listener, "0.0.0.0", port), 0);
		assert_int_equal(listen_at(e.b, e.listener, 1), 0);
		e.id = resolved_id(e.a, RDMA_PS_TCP, 1, port);
		establish_ends(&e);
		assert_int_equal(disconnect_id(e.a, e.id), 0);
		expect_event(e.b, 3, CM_EVENT_DISCONNECTED, 0);
		if (i % 2)
			assert_int_equal(destroy_id(e.b, e.child), 2);
		close_channel(e.b);
		expect_event(e.a, 1, CM_EVENT_DISCONNECTED, 0);
		close_channel(e.a);
	}
	return NULL;
}

TEST_WITH(threads_are_not_in_each_others_way, NULL, NULL)
{
	pthread_t thread[THREADS];
	uintptr_t i;

	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, connect_and_leave, (void *)i);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

/* Another process, which executes the steps up to @far, and sleeps. */
static pid_t start_client(int far, int *ret_fd)
{
	int fds[2], fd;
	uint32_t id;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid) {
		close(fds[1]);
		*ret_fd = fds[0];
		return pid;
	}
	fd = new_channel();
	id = resolved_id(fd, RDMA_PS_TCP, 1, PORT);
	assert_int_equal(connect_with(fd, id, param_of("")), 0);
	assert_int_equal(write(fds[1], "c", 1), 1);
	if (far > 1) {
		expect_event(fd, 1, CM_EVENT_CONNECT_RESPONSE, 0);
		assert_int_equal(ready_qp(fd, id), 0);
	}
	if (far > 2)
		assert_int_equal(disconnect_id(fd, id), 0);
	pause();
	_exit(0);
}

static void kill_it(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST_WITH(killed_client_is_disconnected, NULL, NULL)
{
	int fd = new_channel(), told;
	uint32_t child;
	pid_t pid;

	make_listener(fd, RDMA_PS_TCP, 2, 1);
	pid = start_client(2, &told);
	child = expect_event(fd, 2, CM_EVENT_CONNECT_REQUEST, 0).id;
	assert_int_equal(accept_with(fd, child, 3, param_of("")), 0);
	expect_event(fd, 3, CM_EVENT_ESTABLISHED, 0);
	kill_it(pid);
	expect_event(fd, 3, CM_EVENT_DISCONNECTED, 0);
	expect_event(fd, 3, CM_EVENT_TIMEWAIT_EXIT, 0);
	close(told);
	close_channel(fd);
}

/* A program that polls and finds no event calls it an error: rping does. */
TEST_WITH(death_after_its_disconnect_is_no_event, NULL, NULL)
{
	int fd = new_channel(), told;
	uint32_t child;
	pid_t pid;

	make_listener(fd, RDMA_PS_TCP, 2, 1);
	pid = start_client(3, &told);
	child = expect_event(fd, 2, CM_EVENT_CONNECT_REQUEST, 0).id;
	assert_int_equal(accept_with(fd, child, 3, param_of("")), 0);
	expect_event(fd, 3, CM_EVENT_ESTABLISHED, 0);
	expect_event(fd, 3, CM_EVENT_DISCONNECTED, 0);
	kill_it(pid);
	no_event(fd);
	assert_int_equal(disconnect_id(fd, child), 0);
	expect_event(fd, 3, CM_EVENT_TIMEWAIT_EXIT, 0);
	close(told);
	close_channel(fd);
}

TEST_WITH(killed_client_cannot_be_accepted, NULL, NULL)
{
	int fd = new_channel(), told;
	uint32_t child;
	pid_t pid;

	make_listener(fd, RDMA_PS_TCP, 2, 1);
	pid = start_client(1, &told);
	child = expect_event(fd, 2, CM_EVENT_CONNECT_REQUEST, 0).id;
	kill_it(pid);
	assert_int_equal(accept_with(fd, child, 3, param_of("")), -EINVAL);
	no_event(fd);
	close(told);
	close_channel(fd);
}

TEST_WITH(client_killed_after_accept_is_unreachable, NULL, NULL)
{
	int fd = new_channel(), told;
	uint32_t child;
	pid_t pid;

	make_listener(fd, RDMA_PS_TCP, 2, 1);
	pid = start_client(1, &told);
	child = expect_event(fd, 2, CM_EVENT_CONNECT_REQUEST, 0).id;
	assert_int_equal(accept_with(fd, child, 3, param_of("")), 0);
	kill_it(pid);
	expect_event(fd, 3, CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	close(told);
	close_channel(fd);
}

/* A listener that does not respond. */
/* A server that waits to be killed, or rejects a request and ends at once. */
static pid_t start_server(bool rejects)
{
	int fds[2], fd;
	char c;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		fd = new_channel();
		make_listener(fd, RDMA_PS_TCP, 2, 1);
		assert_int_equal(write(fds[1], "l", 1), 1);
		if (rejects)
			reject_with(fd, next_event(fd).id, "no");
		else
			pause();
		_exit(0);
	}
	assert_int_equal(read(fds[0], &c, 1), 1);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

TEST_WITH(killed_server_is_unreachable, NULL, NULL)
{
	pid_t pid = start_server(false);
	int fd = new_channel();
	uint32_t id = resolved_id(fd, RDMA_PS_TCP, 1, PORT);

	assert_int_equal(connect_with(fd, id, param_of("")), 0);
	no_event(fd);
	kill_it(pid);
	expect_event(fd, 1, CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	/* its port is free now */
	id = resolved_id(fd, RDMA_PS_TCP, 4, PORT);
	assert_int_equal(connect_with(fd, id, param_of("")), 0);
	expect_event(fd, 4, CM_EVENT_REJECTED, 8);
	id = create_id(fd, RDMA_PS_TCP, 5);
	assert_int_equal(bind_ip(fd, id, "0.0.0.0", PORT), 0);
	close_channel(fd);
}

enum { REJECTIONS = 300 };

/* On one processor it has usually ended before connect() returns. */
TEST_WITH(server_that_rejects_and_ends_has_rejected, NULL, NULL)
{
	int i, fd = new_channel();
	cpu_set_t before, one;
	pid_t pid;

	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (i = 0; i < REJECTIONS; i++) {
		pid = start_server(true);
		assert_int_equal(
			connect_with(fd, resolved_id(fd, RDMA_PS_TCP, 1, PORT), param_of("")), 0);
		expect_event(fd, 1, CM_EVENT_REJECTED, 28);
		waitpid(pid, NULL, 0);
	}
	sched_setaffinity(0, sizeof(before), &before);
	close_channel(fd);
}

TEST(child_has_nothing_of_its_parents)
{
	struct ends *e = *state;
	int status, fd;
	pid_t pid;

	establish_ends(e);
	pid = fork();
	if (!pid) {
		if (cm_owns(e->a) || cm_owns(e->b))
			_exit(1);
		close(e->a);
		close(e->b);
		fd = new_channel();
		resolved_id(fd, RDMA_PS_TCP, 9, PORT);
		close_channel(fd);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	no_event(e->a);
	assert_int_equal(disconnect_id(e->a, e->id), 0);
	expect_event(e->b, 3, CM_EVENT_DISCONNECTED, 0);
}
