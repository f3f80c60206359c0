#include <string.h>

#include "core/model/place.h"
#include "tests/test.h"

TEST(a_gid_is_read_with_colons_and_without)
{
	uint8_t a[PLACE_GID], b[PLACE_GID];

	assert_true(place_parse_gid("fe80:0000:0000:0000:0002:c903:0000:1491", a));
	assert_true(place_parse_gid("fe800000000000000002C90300001491", b));
	assert_memory_equal(a, b, sizeof(a));
	assert_int_equal(a[0], 0xfe);
	assert_int_equal(a[15], 0x91);
}

TEST(text_that_is_no_gid_is_refused)
{
	uint8_t gid[PLACE_GID] = { 7 };

	assert_false(place_parse_gid("", gid));
	assert_false(place_parse_gid("fe80::1", gid));
	assert_false(place_parse_gid("fe800000000000000002c9030000149100", gid));
	assert_false(place_parse_gid("fe80000000000000000zc90300001491", gid));
	assert_int_equal(gid[0], 7);
}

static struct place make_gid(const char *text)
{
	struct place place = { .is_global = true };

	assert_true(place_parse_gid(text, place.gid));
	return place;
}

TEST(only_addresses_of_one_family_contradict)
{
	const struct place all[] = { make_gid("fe800000000000000000000000000001"),
				     make_gid("00000000000000000000ffff0a000001"),
				     make_gid("20010db8000000000000000000000001"),
				     { .lid = 1 } };
	struct place other;

	for (int i = 0; i < 4; i++) {
		for (int j = 0; j < 4; j++)
			assert_int_equal(place_compare(&all[i], &all[j]),
					 i == j ? PLACED_AT_PORT : PLACED_PERHAPS);
		other = all[i];
		other.lid ^= 2;
		other.gid[15] ^= 2;
		assert_int_equal(place_compare(&all[i], &other), PLACED_ELSEWHERE);
	}
}

TEST(zeros_are_no_address)
{
	const struct place none = { 0 }, no_gid = { .is_global = true, .lid = 4 };
	const struct place gid = make_gid("fe800000000000000000000000000001"), lid = { .lid = 4 };

	assert_false(place_is_known(NULL));
	assert_false(place_is_known(&none));
	assert_false(place_is_known(&no_gid));
	assert_true(place_is_known(&gid));
	assert_true(place_is_known(&lid));
}
