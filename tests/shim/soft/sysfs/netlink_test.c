/* RDMA netlink, as used by a program without a library for it. */
#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/test.h"

enum { ROOM = 4096, SEQ = 77 };

struct request {
	struct nlmsghdr header;
	struct {
		struct nlattr head;
		uint32_t value;
	} device, port;
};

static int open_netlink(void)
{
	struct sockaddr_nl any = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	return fd;
}

static struct request request_of(int client, int command, int flags, uint32_t device, uint32_t port)
{
	return (struct request){
		.header = { .nlmsg_len = sizeof(struct request),
			    .nlmsg_type = RDMA_NL_GET_TYPE(client, command),
			    .nlmsg_flags = NLM_F_REQUEST | flags,
			    .nlmsg_seq = SEQ },
		.device = { { 8, RDMA_NLDEV_ATTR_DEV_INDEX }, device },
		.port = { { 8, RDMA_NLDEV_ATTR_PORT_INDEX }, port },
	};
}

static void send_request(int fd, struct request request)
{
	assert_int_equal(send(fd, &request, sizeof(request), 0), sizeof(request));
}

static struct nlmsghdr *receive_answer(int fd, uint8_t room[ROOM])
{
	struct nlmsghdr *header = (void *)room;
	ssize_t len = recv(fd, room, ROOM, MSG_DONTWAIT);

	assert_int_equal(len, header->nlmsg_len);
	assert_int_equal(header->nlmsg_seq, SEQ);
	return header;
}

static const void *find_attribute(const struct nlmsghdr *header, int type)
{
	const uint8_t *at = (const uint8_t *)(header + 1);
	const uint8_t *end = (const uint8_t *)header + header->nlmsg_len;
	const struct nlattr *attribute;

	for (; at < end; at += NLA_ALIGN(attribute->nla_len)) {
		attribute = (const void *)at;
		if (attribute->nla_type == type)
			return at + NLA_HDRLEN;
	}
	return NULL;
}

static void expect_error(int fd, int err)
{
	uint8_t room[ROOM];
	struct nlmsghdr *header = receive_answer(fd, room);
	struct nlmsgerr *answer = NLMSG_DATA(header);

	assert_int_equal(header->nlmsg_type, NLMSG_ERROR);
	assert_int_equal(answer->error, err);
}

TEST(a_dump_has_each_port_and_an_end)
{
	int fd = open_netlink();
	uint8_t room[ROOM];
	struct nlmsghdr *header;

	send_request(fd, request_of(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET, NLM_F_DUMP, 0, 0));
	header = receive_answer(fd, room);
	assert_true(header->nlmsg_flags & NLM_F_MULTI);
	assert_string_equal(find_attribute(header, RDMA_NLDEV_ATTR_DEV_NAME), "verbatim0");
	assert_int_equal(*(const uint32_t *)find_attribute(header, RDMA_NLDEV_ATTR_PORT_INDEX), 1);
	assert_int_equal(*(const uint8_t *)find_attribute(header, RDMA_NLDEV_ATTR_PORT_STATE), 4);
	assert_int_equal(*(const uint32_t *)find_attribute(header, RDMA_NLDEV_ATTR_LID), 1);
	assert_int_equal(receive_answer(fd, room)->nlmsg_type, NLMSG_DONE);
	assert_int_equal(recv(fd, room, ROOM, MSG_DONTWAIT), -1);
	close(fd);
}

TEST(an_answer_is_acknowledged_where_that_is_asked_for)
{
	int fd = open_netlink();
	uint8_t room[ROOM];

	send_request(fd, request_of(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET, NLM_F_ACK, 0, 0));
	assert_string_equal(find_attribute(receive_answer(fd, room), RDMA_NLDEV_ATTR_FW_VERSION),
			    "1.0.0");
	expect_error(fd, 0);
	send_request(fd, request_of(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET, 0, 0, 1));
	assert_non_null(find_attribute(receive_answer(fd, room), RDMA_NLDEV_ATTR_PORT_INDEX));
	assert_int_equal(recv(fd, room, ROOM, MSG_DONTWAIT), -1);
	close(fd);
}

TEST(what_is_not_there_is_an_error)
{
	int fd = open_netlink();

	send_request(fd, request_of(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET, 0, 5, 0));
	expect_error(fd, -EINVAL);
	send_request(fd, request_of(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET, 0, 0, 9));
	expect_error(fd, -EINVAL);
	send_request(fd, request_of(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK, 0, 0, 0));
	expect_error(fd, -EOPNOTSUPP);
	send_request(fd, request_of(RDMA_NL_LS, 0, 0, 0, 0));
	expect_error(fd, -EOPNOTSUPP);
	close(fd);
}

/* A descriptor is one of the device's only as long as it is that socket. */
TEST(other_sockets_of_the_same_number_are_left_alone)
{
	int fd = open_netlink(), pair[2];
	char byte = 0;

	close(fd);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(pair[0], fd);
	assert_int_equal(send(pair[0], "x", 1, 0), 1);
	assert_int_equal(read(pair[1], &byte, 1), 1);
	assert_int_equal(byte, 'x');
	close(pair[0]);
	close(pair[1]);
}

TEST(damaged_requests_end_nothing)
{
	struct request request = request_of(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET, NLM_F_ACK, 0, 0);
	int fd = open_netlink();
	uint8_t room[ROOM];

	request.header.nlmsg_len = 4;
	send_request(fd, request);
	request.header.nlmsg_len = 4096;
	send_request(fd, request);
	assert_int_equal(recv(fd, room, ROOM, MSG_DONTWAIT), -1);
	request.header.nlmsg_len = sizeof(request);
	request.device.head.nla_len = 0xffff;
	send_request(fd, request);
	expect_error(fd, -EINVAL);
	close(fd);
}
