/*
 * What the kernel does with registered pages when a process forks
 *
 * Found as ibv_is_fork_initialized() finds it: by netlink, where a kernel that copies (5.12 and
 * newer, and some distributions' older ones) has a separate attribute. If the RDMA core is not
 * loaded, there is no answer; then the version decides.
 *
 * The recorder asks, not the program, since the answer is the same for all processes of a machine,
 * and needs a socket.
 */
#include "cli/record/copies.h"

#include <linux/netlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { WAIT_MS = 1000 };

enum answer { ANSWER_NONE, ANSWER_NO, ANSWER_YES };

/* The attribute in @n bytes of attributes at @at. */
static enum answer find_attribute(const char *at, size_t n)
{
	while (n >= NLA_HDRLEN) {
		struct nlattr attribute;
		size_t step;

		memcpy(&attribute, at, sizeof(attribute));
		step = NLA_ALIGN(attribute.nla_len);
		if (attribute.nla_len < NLA_HDRLEN || step > n)
			break;
		if ((attribute.nla_type & NLA_TYPE_MASK) == RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK &&
		    attribute.nla_len > NLA_HDRLEN)
			return at[NLA_HDRLEN] ? ANSWER_YES : ANSWER_NO;
		at += step;
		n -= step;
	}
	return ANSWER_NO;
}

static enum answer read_answer(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	char bytes[4096];
	struct nlmsghdr head;
	ssize_t n;

	if (poll(&ready, 1, WAIT_MS) != 1)
		return ANSWER_NONE;
	n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (n < (ssize_t)NLMSG_HDRLEN)
		return ANSWER_NONE;
	memcpy(&head, bytes, sizeof(head));
	if (head.nlmsg_type != RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET) ||
	    head.nlmsg_len < NLMSG_HDRLEN || head.nlmsg_len > (size_t)n)
		return ANSWER_NONE;
	return find_attribute(bytes + NLMSG_HDRLEN, head.nlmsg_len - NLMSG_HDRLEN);
}

static enum answer ask_kernel(void)
{
	struct nlmsghdr question = {
		.nlmsg_len = NLMSG_HDRLEN,
		.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET),
		.nlmsg_flags = NLM_F_REQUEST,
	};
	enum answer answer = ANSWER_NONE;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

	if (fd < 0)
		return ANSWER_NONE;
	if (send(fd, &question, sizeof(question), 0) == sizeof(question))
		answer = read_answer(fd);
	close(fd);
	return answer;
}

static bool is_new_kernel(void)
{
	struct utsname host;
	int major, minor;

	return !uname(&host) && sscanf(host.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 12));
}

const char *copies_on_fork(void)
{
	switch (ask_kernel()) {
	case ANSWER_YES:
		return "yes";
	case ANSWER_NO:
		return "no";
	default:
		return is_new_kernel() ? "yes" : "";
	}
}
