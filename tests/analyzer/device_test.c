/* analyzer/model/device.c: which addresses lead to a device, as its queries returned them. */
#include "analyzer/model/device.h"

#include <string.h>

#include "core/store/read/trace.h"
#include "tests/test.h"

#define LOCAL "fe800000000000000000000000000001"
#define IPV4  "00000000000000000000ffff0a000001"

static struct device *device;

static void learn_call(enum verb verb, const char *in, const char *out)
{
	struct call call = { .verb = verb,
			     .args = args_new(in, strlen(in)),
			     .out = args_new(out, strlen(out)) };

	assert_int_equal(device_learn(&device, &call), 0);
	args_unref(call.args);
	args_unref(call.out);
}

static int make_device(void **state)
{
	(void)state;
	device = NULL;
	learn_call(VERB_query_port, "{\"port_num\":1}",
		   "{\"port_attr\":{\"lid\":16,\"lmc\":2,\"gid_tbl_len\":1}}");
	learn_call(VERB_query_port, "{\"port_num\":2}",
		   "{\"port_attr\":{\"lid\":32,\"lmc\":0,\"gid_tbl_len\":1}}");
	learn_call(VERB_query_gid, "{\"port_num\":1,\"index\":0}",
		   "{\"gid\":{\"raw\":\"" LOCAL "\"}}");
	return 0;
}

static int free_device(void **state)
{
	(void)state;
	device_put(device);
	return 0;
}

FIXTURE(make_device, free_device);

static enum placed place_lid(uint32_t port, uint16_t lid)
{
	return device_place(device, port, &(struct place){ .lid = lid });
}

static enum placed place_gid(uint32_t port, const char *text)
{
	struct place place = { .is_global = true };

	assert_true(place_parse_gid(text, place.gid));
	return device_place(device, port, &place);
}

TEST(a_lid_leads_to_its_port)
{
	assert_int_equal(place_lid(0, 32), PLACED_AT_PORT);
	assert_int_equal(place_lid(2, 32), PLACED_AT_PORT);
	assert_int_equal(place_lid(1, 32), PLACED_ELSEWHERE);
	assert_int_equal(place_lid(0, 33), PLACED_ELSEWHERE);
}

TEST(paths_of_a_lid_lead_to_its_port)
{
	assert_int_equal(place_lid(1, 19), PLACED_AT_PORT);
	assert_int_equal(place_lid(1, 20), PLACED_ELSEWHERE);
}

TEST(only_gids_of_a_family_contradict)
{
	assert_int_equal(place_gid(0, LOCAL), PLACED_AT_PORT);
	assert_int_equal(place_gid(1, "fe800000000000000000000000000002"), PLACED_ELSEWHERE);
	assert_int_equal(place_gid(1, IPV4), PLACED_PERHAPS);
	assert_int_equal(place_gid(2, LOCAL), PLACED_PERHAPS);
}

TEST(what_is_not_known_contradicts_nothing)
{
	assert_int_equal(device_place(NULL, 1, &(struct place){ .lid = 32 }), PLACED_PERHAPS);
	assert_int_equal(place_lid(1, 0), PLACED_PERHAPS);
	assert_int_equal(place_lid(3, 32), PLACED_PERHAPS);
}
