/*
 * What the kernel says about forks: its answers by netlink, and its version if it gives none
 *
 * The functions of libc that ask are replaced here.
 */
#include "cli/record/copies.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include "tests/test.h"

enum { DOOR = 1000, OTHER_ATTRIBUTE = RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK + 1 };

static struct {
	bool absent, deaf, slow; /* no socket; it takes nothing; it answers nothing in time */
	const char *release;     /* NULL: uname() fails */
	char bytes[256];
	ssize_t n;
	int asked; /* type of the question */
} kernel;

int socket(int domain, int type, int protocol)
{
	assert_int_equal(domain, AF_NETLINK);
	assert_int_equal(type, SOCK_RAW | SOCK_CLOEXEC);
	assert_int_equal(protocol, NETLINK_RDMA);
	return kernel.absent ? -1 : DOOR;
}

ssize_t send(int fd, const void *bytes, size_t n, int flags)
{
	struct nlmsghdr head;

	assert_int_equal(fd, DOOR);
	assert_int_equal(n, sizeof(head));
	assert_int_equal(flags, 0);
	memcpy(&head, bytes, sizeof(head));
	assert_int_equal(head.nlmsg_len, sizeof(head));
	assert_int_equal(head.nlmsg_flags, NLM_F_REQUEST);
	kernel.asked = head.nlmsg_type;
	return kernel.deaf ? -1 : (ssize_t)n;
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	assert_int_equal(n, 1);
	assert_int_equal(fds->fd, DOOR);
	assert_int_equal(fds->events, POLLIN);
	assert_int_equal(timeout, 1000);
	return !kernel.slow;
}

ssize_t recv(int fd, void *bytes, size_t n, int flags)
{
	assert_int_equal(fd, DOOR);
	assert_true(n >= sizeof(kernel.bytes));
	assert_int_equal(flags, MSG_DONTWAIT);
	if (kernel.n > 0)
		memcpy(bytes, kernel.bytes, (size_t)kernel.n);
	return kernel.n;
}

int uname(struct utsname *host)
{
	memset(host, 0, sizeof(*host));
	if (kernel.release)
		snprintf(host->release, sizeof(host->release), "%s", kernel.release);
	return kernel.release ? 0 : -1;
}

/* A message of that type, and attributes behind it. */
static void begin_answer(int type)
{
	struct nlmsghdr head = { .nlmsg_len = NLMSG_HDRLEN, .nlmsg_type = (uint16_t)type };

	memset(&kernel, 0, sizeof(kernel));
	kernel.release = "4.4.0";
	memcpy(kernel.bytes, &head, sizeof(head));
	kernel.n = NLMSG_HDRLEN;
}

static void begin_usual_answer(void)
{
	begin_answer(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET));
}

static void change_length(int by)
{
	struct nlmsghdr head;

	memcpy(&head, kernel.bytes, sizeof(head));
	head.nlmsg_len += (uint32_t)by;
	memcpy(kernel.bytes, &head, sizeof(head));
}

/* @length: of the attribute, with its head of 4 bytes. */
static void add_attribute(int type, int length, uint8_t value)
{
	struct nlattr attribute = { (uint16_t)length, (uint16_t)type };

	memcpy(kernel.bytes + kernel.n, &attribute, sizeof(attribute));
	kernel.bytes[kernel.n + NLA_HDRLEN] = (char)value;
	kernel.n += NLA_ALIGN(length);
	change_length(NLA_ALIGN(length));
}

TEST(the_attribute_decides)
{
	begin_usual_answer();
	add_attribute(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 5, 1);
	assert_string_equal(copies_on_fork(), "yes");
	assert_int_equal(kernel.asked, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET));
	begin_usual_answer();
	add_attribute(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 5, 0);
	assert_string_equal(copies_on_fork(), "no");
	begin_usual_answer();
	add_attribute(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK | NLA_F_NESTED, 5, 1);
	assert_string_equal(copies_on_fork(), "yes");
}

TEST(other_attributes_are_passed_over)
{
	begin_usual_answer();
	add_attribute(OTHER_ATTRIBUTE, 5, 1);
	assert_string_equal(copies_on_fork(), "no");
	begin_usual_answer();
	assert_string_equal(copies_on_fork(), "no");
	begin_usual_answer();
	add_attribute(OTHER_ATTRIBUTE, 12, 0);
	add_attribute(OTHER_ATTRIBUTE, 4, 0);
	add_attribute(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 8, 1);
	assert_string_equal(copies_on_fork(), "yes");
}

/* An attribute that is too short, or longer than the message, ends it. */
TEST(damaged_attributes_end_the_message)
{
	begin_usual_answer();
	add_attribute(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 4, 1); /* without a value */
	assert_string_equal(copies_on_fork(), "no");
	begin_usual_answer();
	add_attribute(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 5, 1);
	((struct nlattr *)(void *)(kernel.bytes + NLMSG_HDRLEN))->nla_len = 9;
	assert_string_equal(copies_on_fork(), "no");
	((struct nlattr *)(void *)(kernel.bytes + NLMSG_HDRLEN))->nla_len = 3;
	assert_string_equal(copies_on_fork(), "no");
	((struct nlattr *)(void *)(kernel.bytes + NLMSG_HDRLEN))->nla_len = 8;
	assert_string_equal(copies_on_fork(), "yes");
}

static const struct version {
	const char *name, *release, *answer;
} versions[] = {
	{ "old", "4.18.0", "" },           { "older_than_5_12", "5.11.22", "" },
	{ "since_5_12", "5.12.0", "yes" }, { "newer", "5.19.0-x", "yes" },
	{ "major_6", "6.0.0", "yes" },     { "major_4_with_minor_12", "4.12.0", "" },
	{ "no_number", "x", "" },          { "major_only", "6", "" },
	{ "unknown", NULL, "" },
};

/* Each reason not to have an answer. */
static void version_decides_without_an_answer(void **state)
{
	const struct version *version = *state;

	for (int reason = 0; reason < 8; reason++) {
		begin_answer(reason == 0 ? NLMSG_ERROR
					 : RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET));
		add_attribute(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 5, 0);
		kernel.absent = reason == 1;
		kernel.deaf = reason == 2;
		kernel.slow = reason == 3;
		kernel.n = reason == 4 ? -1 : reason == 5 ? NLMSG_HDRLEN - 1 : kernel.n;
		change_length(reason == 6 ? 1 : reason == 7 ? -(int)NLMSG_HDRLEN - 7 : 0);
		kernel.release = version->release;
		assert_string_equal(copies_on_fork(), version->answer);
	}
}

TEST_ROWS(versions, version_decides_without_an_answer);
