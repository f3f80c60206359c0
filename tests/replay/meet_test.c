#include "replay/two_host/meet.h"
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
