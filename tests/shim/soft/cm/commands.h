#pragma once
/*
 * Commands of librdmacm to the kernel, as tests give them to the device
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <arpa/inet.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>

#include "shim/soft/cm/cm.h"
#include "shim/soft/cm/cm_event.h"
#include "tests/shim/soft/pair.h"

enum { PORT = 7471, WAIT_MS = 10000 };

/* A command as librdmacm writes it. */
#define COMMAND(name, type)                  \
	struct {                             \
		struct rdma_ucm_cmd_hdr hdr; \
		struct type cmd;             \
	} __attribute__((packed)) name = { .hdr = { .in = sizeof(struct type) } }

HELPER int put_command(int fd, void *command, size_t len, int number, uint16_t out)
{
	struct rdma_ucm_cmd_hdr *hdr = command;

	hdr->cmd = number;
	hdr->out = out;
	return cm_write(fd, command, len) == (ssize_t)len ? 0 : -errno;
}

#define PUT(fd, command, NUMBER) \
	put_command(fd, &command, sizeof(command), RDMA_USER_CM_CMD_##NUMBER, 0)
#define ASK(fd, command, NUMBER, resp)             \
	(command.cmd.response = (uintptr_t)(resp), \
	 put_command(fd, &command, sizeof(command), RDMA_USER_CM_CMD_##NUMBER, sizeof(*(resp))))

HELPER int new_channel(void)
{
	int fd = cm_open(O_RDWR | O_CLOEXEC | O_NONBLOCK);

	assert_true(fd >= 0);
	return fd;
}

HELPER void close_channel(int fd)
{
	assert_true(cm_owns(fd));
	cm_close(fd);
	assert_false(cm_owns(fd));
	close(fd);
}

HELPER int try_create(int fd, int ps, uint8_t qp_type, uint64_t uid)
{
	COMMAND(c, rdma_ucm_create_id);
	struct rdma_ucm_create_id_resp resp;
	int err;

	c.cmd.uid = uid;
	c.cmd.ps = ps;
	c.cmd.qp_type = qp_type;
	err = ASK(fd, c, CREATE_ID, &resp);
	return err < 0 ? err : (int)resp.id;
}

HELPER uint32_t create_id(int fd, int ps, uint64_t uid)
{
	int id = try_create(fd, ps, ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC, uid);

	assert_true(id >= 0);
	return id;
}

/* The events that it has reported, or -errno. */
HELPER int destroy_id(int fd, uint32_t id)
{
	COMMAND(c, rdma_ucm_destroy_id);
	struct rdma_ucm_destroy_id_resp resp;
	int err;

	c.cmd.id = id;
	err = ASK(fd, c, DESTROY_ID, &resp);
	return err < 0 ? err : (int)resp.events_reported;
}

HELPER struct sockaddr_in6 make_address(const char *text, uint16_t port)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (inet_pton(AF_INET, text, &in.sin_addr) == 1) {
		memset(&in6, 0, sizeof(in6));
		memcpy(&in6, &in, sizeof(in));
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
	}
	return in6;
}

HELPER int bind_ip(int fd, uint32_t id, const char *text, uint16_t port)
{
	COMMAND(c, rdma_ucm_bind_ip);

	c.cmd.id = id;
	c.cmd.addr = make_address(text, port);
	return PUT(fd, c, BIND_IP);
}

HELPER int listen_at(int fd, uint32_t id, uint32_t backlog)
{
	COMMAND(c, rdma_ucm_listen);

	c.cmd.id = id;
	c.cmd.backlog = backlog;
	return PUT(fd, c, LISTEN);
}

HELPER int resolve_ip(int fd, uint32_t id, const char *text, uint16_t port)
{
	COMMAND(c, rdma_ucm_resolve_ip);

	c.cmd.id = id;
	c.cmd.dst_addr = make_address(text, port);
	c.cmd.timeout_ms = 2000;
	return PUT(fd, c, RESOLVE_IP);
}

HELPER int resolve_route(int fd, uint32_t id)
{
	COMMAND(c, rdma_ucm_resolve_route);

	c.cmd.id = id;
	return PUT(fd, c, RESOLVE_ROUTE);
}

HELPER struct rdma_ucm_conn_param param_of(const char *data)
{
	struct rdma_ucm_conn_param param = {
		.qp_num = 0x123,
		.responder_resources = 3,
		.initiator_depth = 2,
		.retry_count = 5,
		.rnr_retry_count = 6,
		.valid = 1,
	};

	param.private_data_len = strlen(data);
	memcpy(param.private_data, data, strlen(data));
	return param;
}

HELPER int connect_with(int fd, uint32_t id, struct rdma_ucm_conn_param param)
{
	COMMAND(c, rdma_ucm_connect);

	c.cmd.id = id;
	c.cmd.conn_param = param;
	return PUT(fd, c, CONNECT);
}

HELPER int accept_with(int fd, uint32_t id, uint64_t uid, struct rdma_ucm_conn_param param)
{
	COMMAND(c, rdma_ucm_accept);

	c.cmd.id = id;
	c.cmd.uid = uid;
	c.cmd.conn_param = param;
	return PUT(fd, c, ACCEPT);
}

/* The active side has seen the response: ready to use. */
HELPER int ready_qp(int fd, uint32_t id)
{
	return accept_with(fd, id, 0, (struct rdma_ucm_conn_param){ 0 });
}

HELPER int reject_with(int fd, uint32_t id, const char *data)
{
	COMMAND(c, rdma_ucm_reject);

	c.cmd.id = id;
	c.cmd.private_data_len = strlen(data);
	memcpy(c.cmd.private_data, data, strlen(data));
	return PUT(fd, c, REJECT);
}

HELPER int disconnect_id(int fd, uint32_t id)
{
	COMMAND(c, rdma_ucm_disconnect);

	c.cmd.id = id;
	return PUT(fd, c, DISCONNECT);
}

HELPER int get_event(int fd, struct rdma_ucm_event_resp *event)
{
	COMMAND(c, rdma_ucm_get_event);

	return ASK(fd, c, GET_EVENT, event);
}

/* As a program that polls does it. */
HELPER struct rdma_ucm_event_resp next_event(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct rdma_ucm_event_resp event;
	int err;

	do {
		assert_int_equal(poll(&p, 1, WAIT_MS), 1);
		err = get_event(fd, &event);
	} while (err == -EAGAIN);
	assert_int_equal(err, 0);
	return event;
}

/* While channel @other, which has no event, is polled, too. */
HELPER void expect_event_turning(int fd, int other, uint64_t uid, int type)
{
	struct pollfd p[] = { { .fd = fd, .events = POLLIN }, { .fd = other, .events = POLLIN } };
	struct rdma_ucm_event_resp event;

	while (get_event(fd, &event) == -EAGAIN) {
		assert_true(poll(p, 2, WAIT_MS) > 0);
		if (p[1].revents)
			assert_int_equal(get_event(other, &event), -EAGAIN);
	}
	assert_int_equal(event.event, type);
	assert_int_equal(event.uid, uid);
}

HELPER struct rdma_ucm_event_resp expect_event(int fd, uint64_t uid, int type, int status)
{
	struct rdma_ucm_event_resp event = next_event(fd);

	assert_int_equal(event.event, type);
	assert_int_equal((int)event.status, status);
	assert_int_equal(event.uid, uid);
	return event;
}

HELPER void no_event(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct rdma_ucm_event_resp event;

	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(get_event(fd, &event), -EAGAIN);
}

HELPER int query_attr(int fd, uint32_t id, int state, struct ib_uverbs_qp_attr *attr)
{
	COMMAND(c, rdma_ucm_init_qp_attr);

	c.cmd.id = id;
	c.cmd.qp_state = state;
	return ASK(fd, c, INIT_QP_ATTR, attr);
}

HELPER struct rdma_ucm_query_route_resp query_route(int fd, uint32_t id)
{
	COMMAND(c, rdma_ucm_query);
	struct rdma_ucm_query_route_resp resp;

	c.cmd.id = id;
	assert_int_equal(ASK(fd, c, QUERY_ROUTE, &resp), 0);
	return resp;
}

/* A client of uid 1 and a listener of uid 2, each with a channel. */
struct ends {
	int a, b;
	uint32_t id, listener, child;
};

HELPER uint32_t resolved_id(int fd, int ps, uint64_t uid, uint16_t port)
{
	uint32_t id = create_id(fd, ps, uid);

	assert_int_equal(resolve_ip(fd, id, "127.0.0.1", port), 0);
	expect_event(fd, uid, CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(resolve_route(fd, id), 0);
	expect_event(fd, uid, CM_EVENT_ROUTE_RESOLVED, 0);
	return id;
}

HELPER uint32_t make_listener(int fd, int ps, uint64_t uid, uint32_t backlog)
{
	uint32_t id = create_id(fd, ps, uid);

	assert_int_equal(bind_ip(fd, id, "0.0.0.0", PORT), 0);
	assert_int_equal(listen_at(fd, id, backlog), 0);
	return id;
}

HELPER int setup_of(void **state, int ps)
{
	struct ends *e = calloc(1, sizeof(*e));

	e->a = new_channel();
	e->b = new_channel();
	e->listener = make_listener(e->b, ps, 2, 10);
	e->id = resolved_id(e->a, ps, 1, PORT);
	*state = e;
	return 0;
}

HELPER int set_up(void **state)
{
	return setup_of(state, RDMA_PS_TCP);
}

HELPER int setup_udp(void **state)
{
	return setup_of(state, RDMA_PS_UDP);
}

HELPER int tear_down(void **state)
{
	struct ends *e = *state;

	close_channel(e->a);
	close_channel(e->b);
	free(e);
	return 0;
}

HELPER void send_request(struct ends *e)
{
	assert_int_equal(connect_with(e->a, e->id, param_of("hello")), 0);
	e->child = expect_event(e->b, 2, CM_EVENT_CONNECT_REQUEST, 0).id;
}

HELPER void establish_ends(struct ends *e)
{
	send_request(e);
	assert_int_equal(accept_with(e->b, e->child, 3, param_of("welcome")), 0);
	expect_event(e->a, 1, CM_EVENT_CONNECT_RESPONSE, 0);
	assert_int_equal(ready_qp(e->a, e->id), 0);
	expect_event(e->b, 3, CM_EVENT_ESTABLISHED, 0);
}

HELPER struct rdma_ucm_event_resp join_group(int fd, uint32_t id, const char *text,
					     uint32_t *ret_group)
{
	COMMAND(c, rdma_ucm_join_ip_mcast);
	struct rdma_ucm_create_id_resp resp;

	c.cmd.id = id;
	c.cmd.uid = 77;
	c.cmd.addr = make_address(text, 0);
	assert_int_equal(ASK(fd, c, JOIN_IP_MCAST, &resp), 0);
	*ret_group = resp.id;
	return expect_event(fd, 77, CM_EVENT_MULTICAST_JOIN, 0);
}

HELPER int leave_group(int fd, uint32_t group)
{
	COMMAND(c, rdma_ucm_destroy_id);
	struct rdma_ucm_destroy_id_resp resp;
	int err;

	c.cmd.id = group;
	err = ASK(fd, c, LEAVE_MCAST, &resp);
	return err < 0 ? err : (int)resp.events_reported;
}

HELPER int set_option(int fd, uint32_t id, int name, const void *value, uint32_t len)
{
	COMMAND(c, rdma_ucm_set_option);

	c.cmd.id = id;
	c.cmd.level = RDMA_OPTION_ID;
	c.cmd.optname = name;
	c.cmd.optval = (uintptr_t)value;
	c.cmd.optlen = len;
	return PUT(fd, c, SET_OPTION);
}
