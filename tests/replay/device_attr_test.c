#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/db/args.h"
#include "replay/device/device_attr.h"
#include "tests/test.h"

static const struct ibv_device_attr ours = { .fw_ver = "1.2",
					     .vendor_id = 0x2c9,
					     .vendor_part_id = 4123,
					     .max_qp = 100,
					     .phys_port_cnt = 1 };

static enum device_likeness compare_ours(const char *json, char text[512])
{
	struct args *there = args_new(json, strlen(json));
	struct ibv_device_attr here = ours;
	enum device_likeness likeness;

	here.node_guid = htobe64(7);
	likeness = device_attr_compare(there, ARG(attr.orig_attr), &here, text, 512);
	args_unref(there);
	return likeness;
}

#define ATTR(...) "{\"attr\":{\"orig_attr\":{" __VA_ARGS__ "}}}"

TEST(the_same_attributes_are_the_same_device)
{
	char text[512];

	assert_int_equal(
		compare_ours(ATTR("\"fw_ver\":\"1.2\",\"max_qp\":100,\"node_guid\":7"), text),
		DEVICE_SAME);
	assert_string_equal(text, "");
}

TEST(another_guid_alone_is_another_of_the_kind)
{
	char text[512];

	assert_int_equal(compare_ours(ATTR("\"max_qp\":100,\"node_guid\":8"), text), DEVICE_TWIN);
	assert_string_equal(text, "node_guid 0000000000000008 recorded, 0000000000000007 replayed");
}

TEST(another_part_or_limit_is_another_device)
{
	char text[512];

	assert_int_equal(
		compare_ours(ATTR("\"fw_ver\":\"1.1\",\"node_guid\":7,\"vendor_part_id\":4125"),
			     text),
		DEVICE_OTHER);
	assert_string_equal(text, "fw_ver 1.1 recorded, 1.2 replayed, vendor_part_id 4125 "
				  "recorded, 4123 replayed");
	assert_int_equal(compare_ours(ATTR("\"max_qp\":50"), text), DEVICE_OTHER);
}

TEST(a_short_text_is_cut)
{
	struct args *there = args_new("{\"device_attr\":{\"max_qp\":1}}", 28);
	char text[8];

	assert_int_equal(device_attr_compare(there, ARG(device_attr), &ours, text, sizeof(text)),
			 DEVICE_OTHER);
	assert_string_equal(text, "max_qp ");
	args_unref(there);
}
