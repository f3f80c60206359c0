#include <stdlib.h>
#include <string.h>

#include "replay/state/recorded.h"
#include "tests/test.h"

TEST(a_gid_is_read_with_colons_and_without)
{
	union ibv_gid a, b;

	assert_true(recorded_gid("fe80:0000:0000:0000:0002:c903:0000:1491", &a));
	assert_true(recorded_gid("fe800000000000000002C90300001491", &b));
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(a.raw[0], 0xfe);
	assert_int_equal(a.raw[15], 0x91);
}

TEST(what_is_no_gid_is_refused)
{
	union ibv_gid gid;

	assert_false(recorded_gid("", &gid));
	assert_false(recorded_gid("fe80::1", &gid));
	assert_false(recorded_gid("fe800000000000000002c9030000149100", &gid));
	assert_false(recorded_gid("fe80000000000000000zc90300001491", &gid));
}
