/* The numbers of analyzer/model/abi.h are those of <infiniband/verbs.h>. */
#include "analyzer/model/abi.h"

#include <infiniband/verbs.h>

#include "tests/test.h"

TEST(numbers_are_those_of_the_header)
{
#define SAME(number, name) assert_int_equal(ABI_##name, IBV_##name);
	EACH_ABI(SAME)
#undef SAME
}
