/*
 * Which packets leave a bad link, when and how: impair_test.txt. The time, the link and the socket
 * are the test's.
 */
#include "shim/soft/network/impair.h"

#include <errno.h>
#include <netinet/in.h>
#include <unistd.h>

#include "core/base/text.h"
#include "shim/soft/transport/latency.h"
#include "tests/test.h"
#include "tests/transcript.h"

enum { PACKETS = 12, BYTES = 64, MS = 1000000 };

static struct link_model model;
static uint64_t now, expected;
static int receiver, sender;
static struct sockaddr_in6 to;

uint64_t __wrap_process_now(void);
uint64_t __wrap_process_now(void)
{
	return now;
}

const struct link_model *__wrap_latency_model(void);
const struct link_model *__wrap_latency_model(void)
{
	return &model;
}

int __wrap_sockets_send_fd(void);
int __wrap_sockets_send_fd(void)
{
	return sender;
}

void __wrap_alarm_expect(uint64_t due);
void __wrap_alarm_expect(uint64_t due)
{
	expected = due;
}

static int open_sockets(void **state)
{
	socklen_t size = sizeof(to);
	int one = 1;

	(void)state;
	receiver = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	sender = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	to = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	return bind(receiver, (struct sockaddr *)&to, sizeof(to)) ||
	       getsockname(receiver, (struct sockaddr *)&to, &size) ||
	       setsockopt(receiver, IPPROTO_IPV6, IPV6_RECVTCLASS, &one, sizeof(one));
}

static int close_sockets(void **state)
{
	(void)state;
	return close(receiver) || close(sender);
}

GROUP(open_sockets, close_sockets);

/* Packet @i, in two pieces; from the second half on, with a traffic class. */
static void send_one(int i)
{
	uint8_t head[BYTES / 2], body[BYTES / 2];
	struct iovec iov[] = { { head, sizeof(head) }, { body, sizeof(body) } };
	uint8_t control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct msghdr msg = {
		.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = iov, .msg_iovlen = 2
	};
	struct cmsghdr *c = (struct cmsghdr *)control;
	int class = 0x40;

	memset(head, i, sizeof(head));
	memset(body, 0x80 | i, sizeof(body));
	*c = (struct cmsghdr){ CMSG_LEN(sizeof(class)), IPPROTO_IPV6, IPV6_TCLASS };
	memcpy(CMSG_DATA(c), &class, sizeof(class));
	if (i >= PACKETS / 2) {
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
	}
	impair_send(&msg);
}

static void add_packet(struct text *text, const struct msghdr *msg, const uint8_t *bytes, size_t n)
{
	int i = bytes[BYTES - 1] & 0x7f, class = 0;
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);

	if (c)
		memcpy(&class, CMSG_DATA(c), sizeof(class));
	text_addf(text, " %d", i);
	if (n != BYTES)
		text_addf(text, " (%zu bytes)", n);
	if (class)
		text_addf(text, " (class %#x)", class);
	for (size_t at = 0; at < n; at++)
		if (bytes[at] != (at < BYTES / 2 ? i : 0x80 | i))
			text_addf(text, " (byte %zu ^ %#x)", at,
				  bytes[at] ^ (at < BYTES / 2 ? i : 0x80 | i));
}

/* The packets that have left. */
static void add_received(struct text *text, const char *when)
{
	uint8_t bytes[2 * BYTES], control[64] __attribute__((aligned(8)));
	ssize_t n;

	text_addf(text, "\t%s:", when);
	for (;;) {
		struct iovec iov = { bytes, sizeof(bytes) };
		struct msghdr msg = { .msg_iov = &iov,
				      .msg_iovlen = 1,
				      .msg_control = control,
				      .msg_controllen = sizeof(control) };

		n = recvmsg(receiver, &msg, 0);
		if (n < 0)
			break;
		add_packet(text, &msg, bytes, (size_t)n);
	}
	assert_int_equal(errno, EAGAIN);
	text_addf(text, "\n");
}

static void add_time(struct text *text, const char *what, uint64_t time)
{
	if (time != UINT64_MAX)
		text_addf(text, "\t%s at %.3f ms\n", what, (double)time / MS);
}

/* A packet is sent each millisecond; a packet that is due at the end is sent by impair_clear(). */
static void add_link(struct text *text, const char *link)
{
	uint64_t next;

	text_addf(text, "%s\n", link);
	model = (struct link_model){ 0 };
	assert_null(link_model_read(link, &model));
	now = expected = 0;
	impair_load();
	for (int i = 0; i < PACKETS; i++, now += MS)
		send_one(i);
	add_received(text, "at once");
	add_time(text, "the last alarm", expected);
	next = impair_release(now / 2);
	add_received(text, "half of the time later");
	add_time(text, "the next one", next);
	next = impair_release(now);
	add_received(text, "later");
	add_time(text, "the next one", next);
	impair_clear();
	add_received(text, "at the end");
	assert_int_equal(impair_release(now), UINT64_MAX);
}

/* The model is read once in a process. */
static void add_link_of_child(struct text *text, const char *link)
{
	char bytes[4096];
	ssize_t n;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	if (!fork()) {
		struct text own = { 0 };

		add_link(&own, link);
		_exit(write(fds[1], own.at, own.used) != (ssize_t)own.used);
	}
	close(fds[1]);
	while ((n = read(fds[0], bytes, sizeof(bytes))) > 0)
		text_addf(text, "%.*s", (int)n, bytes);
	close(fds[0]);
}

TEST(packets_leave_as_the_link_lets_them)
{
	static const char *const links[] = {
		"delay=0us",
		"delay=3ms",
		"delay=100ms",
		"delay=4ms rate=256kbit",
		"loss=30% seed=3",
		"duplicate=40% seed=2",
		"delay=2ms duplicate=40% seed=2",
		"corrupt=50% seed=5",
		"ecn=50% seed=4",
		"delay=5ms reorder=30% seed=6",
		"delay=5ms±4ms seed=7",
		"cut=4ms+3ms",
	};
	struct text text = { 0 };

	assert_false(impair_is_active());
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
		add_link_of_child(&text, links[i]);
	impair_load();
	assert_true(impair_is_active());
	transcript_expect(__FILE__, &text);
}
