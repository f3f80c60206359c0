#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "core/store/db/sockaddr.h"

static char text[SOCKADDR_TEXT];

static void inet_has_its_port(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(7471) };

	(void)state;
	inet_pton(AF_INET, "192.0.2.1", &in.sin_addr);
	assert_string_equal(sockaddr_text(&in, sizeof(in), text), "192.0.2.1:7471");
}

static void inet6_stands_in_brackets(void **state)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_port = htons(1) };

	(void)state;
	inet_pton(AF_INET6, "fe80::1", &in.sin6_addr);
	assert_string_equal(sockaddr_text(&in, sizeof(in), text), "[fe80::1]:1");
	in.sin6_scope_id = UINT32_MAX;
	inet_pton(AF_INET6, "1111:2222:3333:4444:5555:6666:7777:8888", &in.sin6_addr);
	in.sin6_port = 0xffff;
	assert_string_equal(sockaddr_text(&in, sizeof(in), text),
			    "[1111:2222:3333:4444:5555:6666:7777:8888%4294967295]:65535");
}

static void infiniband_has_a_service(void **state)
{
	unsigned char ib[48] = { AF_IB, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0x80 };

	(void)state;
	ib[23] = 1;
	ib[30] = 0x1d;
	ib[31] = 0x2f;
	assert_string_equal(sockaddr_text(ib, sizeof(ib), text), "[fe80::1]/0x0000000000001d2f");
}

static void other_families_are_named(void **state)
{
	uint16_t family = AF_NETLINK;

	(void)state;
	assert_string_equal(sockaddr_text(&family, 2, text), "family 16");
	family = AF_UNSPEC;
	assert_string_equal(sockaddr_text(&family, 2, text), "none");
}

static void cut_address_is_not_read_further(void **state)
{
	uint16_t family = AF_INET;

	(void)state;
	assert_string_equal(sockaddr_text(&family, 2, text), "family 2");
	assert_string_equal(sockaddr_text(&family, 0, text), "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inet_has_its_port),
		cmocka_unit_test(inet6_stands_in_brackets),
		cmocka_unit_test(infiniband_has_a_service),
		cmocka_unit_test(other_families_are_named),
		cmocka_unit_test(cut_address_is_not_read_further),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
