/*
 * The table of objects
 */
#include "shim/trace/objects/known.h"

#include "tests/test.h"

static char object, other;
static struct known context, cq;

TEST(what_was_not_added_is_not_known)
{
	assert_null(known_find(&object, KNOWN_CQ));
	assert_null(known_find(NULL, KNOWN_CONTEXT));
}

TEST(objects_of_two_kinds_at_one_address_are_two)
{
	known_add(&context, &object, KNOWN_CONTEXT);
	known_add(&cq, &object, KNOWN_CQ);
	assert_ptr_equal(known_find(&object, KNOWN_CONTEXT), &context);
	assert_ptr_equal(known_find(&object, KNOWN_CQ), &cq);
	assert_null(known_find(&object, KNOWN_ENDPOINT));
	assert_null(known_find(&other, KNOWN_CQ));
}
