#include "replay/two_host/meet.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/wire/clock.h"
#include "tests/test.h"

struct address {
	const char *name, *text;
	bool listen;
	const char *host, *port; /* NULL: refused */
};

static const struct address addresses[] = {
	{ "port", "4711", true, "", "4711" },
	{ "any port", "0", true, "", "0" },
	{ "address and port", "127.0.0.1:80", true, "127.0.0.1", "80" },
	{ "IPv6", "[fe80::1]:80", true, "fe80::1", "80" },
	{ "host", "node-1.example:4711", false, "node-1.example", "4711" },
	{ "port alone to connect to", "4711", false, "", NULL },
	{ "port 0 to connect to", "host:0", false, "", NULL },
	{ "no port", "host:", true, "", NULL },
	{ "no host", ":80", true, "", NULL },
	{ "IPv6 without brackets", "fe80::1:80", true, "", NULL },
	{ "empty brackets", "[]:80", true, "", NULL },
	{ "half a bracket", "[::1:80", true, "", NULL },
	{ "port too large", "65536", true, "", NULL },
	{ "a name of a port", "host:http", false, "", NULL },
	{ "negative", "-1", true, "", NULL },
	{ "nothing", "", true, "", NULL },
};

static void parse_address(void **state)
{
	const struct address *a = *state;
	struct meet_address at;
	int err = meet_parse(a->text, a->listen, &at);

	assert_int_equal(!err, a->port != NULL);
	if (err)
		return;
	assert_string_equal(at.host, a->host);
	assert_string_equal(at.port, a->port);
}

TEST_ROWS(addresses, parse_address);

static int number_of(int fd, int level, int name)
{
	int value = -1;
	socklen_t n = sizeof(value);

	assert_int_equal(getsockopt(fd, level, name, &value, &n), 0);
	return value;
}

/* Messages leave at once, and an end that vanishes is noticed. */
static void check_options(int fd)
{
	assert_int_not_equal(number_of(fd, IPPROTO_TCP, TCP_NODELAY), 0);
	assert_int_not_equal(number_of(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
	assert_int_equal(number_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), 5);
	assert_int_equal(number_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), 5);
	assert_int_equal(number_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 20000);
}

static bool never_ended(void)
{
	return false;
}

TEST(both_ends_of_a_connection_have_the_options)
{
	struct meet_address at = { .host = "127.0.0.1", .port = "0" };
	struct sockaddr_in name;
	socklen_t size = sizeof(name);
	char text[MEET_NAME] = "";
	struct pollfd wait;
	int near, far;

	wait.fd = meet_listen(&at);
	wait.events = POLLIN;
	assert_true(wait.fd >= 0);
	assert_int_equal(meet_accept(wait.fd, text), -EAGAIN);
	assert_int_equal(getsockname(wait.fd, (struct sockaddr *)&name, &size), 0);
	snprintf(at.port, sizeof(at.port), "%u", ntohs(name.sin_port));
	assert_int_equal(
		meet_connect(&at, (int64_t)clock_monotonic() + 10000000000ll, never_ended, &near),
		0);
	assert_int_equal(poll(&wait, 1, 10000), 1);
	far = meet_accept(wait.fd, text);
	assert_true(far >= 0);
	assert_memory_equal(text, "127.0.0.1", 9);
	check_options(near);
	check_options(far);
	close(near);
	close(far);
	close(wait.fd);
}
