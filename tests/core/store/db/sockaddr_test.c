#include <string.h>
#include <arpa/inet.h>
#include <netinet/in.h>

#include "core/store/db/sockaddr.h"
#include "tests/test.h"

static char text[SOCKADDR_TEXT];

TEST(inet_has_its_port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(7471) };

	inet_pton(AF_INET, "192.0.2.1", &in.sin_addr);
	assert_string_equal(sockaddr_text(&in, sizeof(in), text), "192.0.2.1:7471");
}

TEST(inet6_stands_in_brackets)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_port = htons(1) };

	inet_pton(AF_INET6, "fe80::1", &in.sin6_addr);
	assert_string_equal(sockaddr_text(&in, sizeof(in), text), "[fe80::1]:1");
	in.sin6_scope_id = UINT32_MAX;
	inet_pton(AF_INET6, "1111:2222:3333:4444:5555:6666:7777:8888", &in.sin6_addr);
	in.sin6_port = 0xffff;
	assert_string_equal(sockaddr_text(&in, sizeof(in), text),
			    "[1111:2222:3333:4444:5555:6666:7777:8888%4294967295]:65535");
}

TEST(infiniband_has_a_service)
{
	unsigned char ib[48] = { AF_IB, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0x80 };

	ib[23] = 1;
	ib[30] = 0x1d;
	ib[31] = 0x2f;
	assert_string_equal(sockaddr_text(ib, sizeof(ib), text), "[fe80::1]/0x0000000000001d2f");
}

TEST(other_families_are_named)
{
	uint16_t family = AF_NETLINK;

	assert_string_equal(sockaddr_text(&family, 2, text), "family 16");
	family = AF_UNSPEC;
	assert_string_equal(sockaddr_text(&family, 2, text), "none");
}

TEST(cut_address_is_not_read_further)
{
	uint16_t family = AF_INET;

	assert_string_equal(sockaddr_text(&family, 2, text), "family 2");
	assert_string_equal(sockaddr_text(&family, 0, text), "none");
}
