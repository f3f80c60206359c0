/* replay/cm/cm_address.c: recorded addresses and ports, and those of the replay. */
#include "tests/replay/cm_fake.h"

enum { END = 1, PEER, LAST };

static struct sockaddr_storage parse_address(const char *text)
{
	struct sockaddr_storage a;

	assert_true(cm_address_parse(text, &a));
	return a;
}

static int begin_addresses(void **state)
{
	begin_cm(state);
	add_object(OBJECT_cm_id, 1, 100 + END);
	add_object(OBJECT_cm_id, 1, 100 + PEER);
	drive_cm();
	return 0;
}

FIXTURE(begin_addresses, end_cm);

static const struct text_row {
	const char *name;
	const char *text, *again; /* NULL: it is not an address */
	bool general;
} texts[] = {
	{ "ip4", "192.0.2.1:7471", "192.0.2.1:7471", false },
	{ "ip4_wildcard", "0.0.0.0:65535", "0.0.0.0:65535", true },
	{ "ip4_group", "224.0.0.1:0", "224.0.0.1:0", true },
	{ "ip6", "[2001:db8::1]:7471", "[2001:db8::1]:7471", false },
	{ "ip6_of_a_link", "[fe80::1%2]:1", "[fe80::1%2]:1", false },
	{ "ip6_wildcard", "[::]:7", "[::]:7", true },
	{ "ip6_group", "[ff02::1]:7", "[ff02::1]:7", true },
	{ "ip6_loopback", "[::1]:7", "[::1]:7", false },
	{ "without_a_port", "192.0.2.1", NULL, false },
	{ "infiniband", "[fe80::1]/0x0000000001061d2f", NULL, false },
	{ "ip6_without_its_end", "[fe80::1:5", NULL, false },
	{ "ip6_without_its_begin", "fe80::1]:5", NULL, false },
	{ "no_ip6", "[fe80::1::2]:5", NULL, false },
	{ "nothing", "", NULL, false },
	{ "none", "none", NULL, false },
	{ "only_a_port", ":5", NULL, false },
};

static void expect_parsed(void **state)
{
	const struct text_row *row = *state;
	struct sockaddr_storage a;
	char again[SOCKADDR_TEXT];

	assert_int_equal(cm_address_parse(row->text, &a), row->again != NULL);
	if (!row->again)
		return;
	assert_string_equal(sockaddr_text(&a, sizeof(a), again), row->again);
	assert_int_equal(cm_address_is_general(&a), row->general);
}

TEST_ROWS(texts, expect_parsed);

TEST(no_text_is_no_address)
{
	struct sockaddr_storage a;

	(void)state;
	assert_false(cm_address_parse(NULL, &a));
}

static void expect_here(const char *there, const char *here, const char *log)
{
	struct sockaddr_storage a = parse_address(there);

	cm_address_translate(&replay, &a);
	assert_string_equal(text_of((struct sockaddr *)&a), here);
	expect_log(log);
}

TEST(an_address_of_the_device_stays)
{
	(void)state;
	expect_here("192.0.2.5:7", "192.0.2.5:7", "create 1; bind 1 192.0.2.5:0; destroy 1");
	expect_here("192.0.2.5:8", "192.0.2.5:8", ""); /* known */
	assert_int_equal(cm_nfreed, 0);
}

TEST(another_address_is_the_first_of_the_device)
{
	(void)state;
	expect_here("10.0.0.1:7", "192.0.2.7:7",
		    "create 1; bind 1 10.0.0.1:0; destroy 1; "
		    "create 2; bind 2 198.51.100.9:0; destroy 2; "
		    "create 3; bind 3 192.0.2.7:0; destroy 3");
	expect_here("10.0.0.1:9", "192.0.2.7:9", "");
	assert_int_equal(cm_nfreed, 1);
	expect_here("192.0.2.5:7", "192.0.2.5:7", "create 4; bind 4 192.0.2.5:0; destroy 4");
	expect_here("10.0.0.1:8", "192.0.2.7:8", "");
	expect_here("192.0.2.5:8", "192.0.2.5:8", "");
}

TEST(general_addresses_stay)
{
	(void)state;
	expect_here("0.0.0.0:7", "0.0.0.0:7", "");
	expect_here("[ff02::1]:7", "[ff02::1]:7", "");
	assert_int_equal(replay.cm->nhosts, 0);
}

TEST(loopback_counts_only_if_nothing_else_does)
{
	struct sockaddr_storage found;

	(void)state;
	cm_ibv_device.name[3] = '1'; /* another device than that of the replay */
	assert_false(cm_address_probe(&replay));
	expect_log("create 1; bind 1 198.51.100.9:0; destroy 1; "
		   "create 2; bind 2 192.0.2.7:0; destroy 2; "
		   "create 3; bind 3 127.0.0.1:0; destroy 3");
	cm_ibv_device.name[3] = '0';
	assert_true(cm_address_probe(&replay));
	*cm_log = 0;
	assert_true(cm_address_find_own(&replay, "dev0", &found));
	assert_string_equal(text_of((struct sockaddr *)&found), "192.0.2.7:0");
	assert_false(cm_address_find_own(&replay, "dev1", &found));
	cm_list = NULL;
	assert_false(cm_address_probe(&replay));
}

TEST(an_address_that_cannot_be_bound_finds_no_device)
{
	(void)state;
	cm_fails = "bind_addr";
	expect_here("192.0.2.5:7", "192.0.2.5:7",
		    "create 1; bind 1 192.0.2.5:0; destroy 1; "
		    "create 2; bind 2 198.51.100.9:0; destroy 2; "
		    "create 3; bind 3 192.0.2.7:0; destroy 3; "
		    "create 4; bind 4 127.0.0.1:0; destroy 4");
	cm_fails = "create_id";
	assert_false(cm_address_probe(&replay));
}

TEST(interfaces_of_the_other_family_do_not_count)
{
	(void)state;
	cm_own[3] = parse_address("[2001:db8::7]:0");
	expect_here("[2001:db8::1]:5", "[2001:db8::1]:5",
		    "create 1; bind 1 [2001:db8::1]:0; destroy 1; "
		    "create 2; bind 2 [2001:db8::7]:0; destroy 2");
	cm_own[3] = parse_address("[::1]:0");
	expect_here("[2001:db8::2]:5", "[2001:db8::2]:5",
		    "create 3; bind 3 [2001:db8::2]:0; destroy 3; "
		    "create 4; bind 4 [::1]:0; destroy 4");
}

static const char *is_reaching(const char *bound, const char *there)
{
	const struct cm_place *place;

	replay.cm->nplaces = 0;
	assert_int_equal(cm_place_note(&replay, bound, false, false, 1, NULL), 0);
	place = cm_place_find(&replay, there, false, false);
	return place ? "yes" : "no";
}

TEST(a_place_is_reached_at_its_address_or_any)
{
	(void)state;
	assert_string_equal(is_reaching("10.0.0.1:7", "10.0.0.1:7"), "yes");
	assert_string_equal(is_reaching("10.0.0.1:7", "10.0.0.1:8"), "no");
	assert_string_equal(is_reaching("10.0.0.1:7", "10.0.0.2:7"), "no");
	assert_string_equal(is_reaching("0.0.0.0:7", "10.0.0.2:7"), "yes");
	assert_string_equal(is_reaching("10.0.0.2:7", "0.0.0.0:7"), "yes");
	assert_string_equal(is_reaching("0.0.0.0:7", "10.0.0.2:77"), "no");
	assert_string_equal(is_reaching("[::]:7", "10.0.0.2:7"), "yes");
	assert_string_equal(is_reaching("[::1]:7", "10.0.0.2:7"), "no");
	assert_string_equal(is_reaching("[::]:7", "none"), "no");
}

TEST(the_last_place_counts_and_refusing_ones_are_others)
{
	struct cm_end keeper = { 0 };

	(void)state;
	cm_place_note(&replay, "10.0.0.1:7", false, false, 1, &keeper);
	cm_place_note(&replay, "10.0.0.1:7", false, true, 2, NULL);
	cm_place_note(&replay, "0.0.0.0:7", false, false, 3, NULL);
	assert_int_equal(replay.cm->nplaces, 3);
	assert_int_equal(cm_place_find(&replay, "10.0.0.1:7", false, false)->port, 3);
	assert_int_equal(cm_place_find(&replay, "10.0.0.1:7", false, true)->port, 2);
	assert_null(cm_place_find(&replay, "10.0.0.2:7", false, true));
	cm_place_find(&replay, "10.0.0.1:7", false, true)->listened = true;
	cm_place_note(&replay, "10.0.0.1:7", false, true, 4, &keeper); /* again */
	assert_int_equal(replay.cm->nplaces, 3);
	assert_int_equal(cm_place_find(&replay, "10.0.0.1:7", false, true)->port, 4);
	assert_ptr_equal(cm_place_find(&replay, "10.0.0.1:7", false, true)->keeper, &keeper);
	assert_false(cm_place_find(&replay, "10.0.0.1:7", false, true)->listened);
}

/* Addresses that need no look-up. */
static void know_host(const char *there, const char *here)
{
	struct sockaddr_storage a = parse_address(there), b = parse_address(here);

	replay.cm->hosts = realloc(replay.cm->hosts, 8 * sizeof(a));
	replay.cm->hosts[replay.cm->nhosts++] = a;
	replay.cm->hosts[replay.cm->nhosts++] = b;
}

TEST(four_places_are_reported)
{
	char there[SOCKADDR_TEXT];

	(void)state;
	know_host("10.0.0.1:0", "192.0.2.7:0");
	cm_place_report(&replay);
	expect_log("");
	cm_place_note(&replay, "none", false, false, 1, NULL);
	for (int i = 1; i <= 4; i++) {
		snprintf(there, sizeof(there), "10.0.0.1:%d", i);
		cm_place_note(&replay, there, false, false, htons((uint16_t)(50 + i)), NULL);
		if (i == 1) {
			cm_place_report(&replay);
			expect_log("note addresses of librdmacm: 10.0.0.1:1 is 192.0.2.7:51");
		}
	}
	cm_place_report(&replay);
	expect_log("note addresses of librdmacm: 10.0.0.1:1 is 192.0.2.7:51, "
		   "10.0.0.1:2 is 192.0.2.7:52, 10.0.0.1:3 is 192.0.2.7:53, "
		   "10.0.0.1:4 is 192.0.2.7:54");
	cm_place_note(&replay, "0.0.0.0:5", false, false, htons(55), NULL);
	cm_place_report(&replay);
	expect_log("note addresses of librdmacm: 10.0.0.1:1 is 192.0.2.7:51, "
		   "10.0.0.1:2 is 192.0.2.7:52, 10.0.0.1:3 is 192.0.2.7:53, "
		   "10.0.0.1:4 is 192.0.2.7:54, and more");
	replay.cm->nplaces = 0;
}
