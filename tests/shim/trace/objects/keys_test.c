/*
 * The memory of a key
 */
#include "shim/trace/objects/keys.h"
#include "tests/test.h"

static struct ibv_context one, other;

static void fill_region(struct ibv_mr *mr, struct ibv_context *context, uint32_t lkey)
{
	*mr = (struct ibv_mr){ .context = context, .lkey = lkey };
}

TEST(addresses_are_the_regions)
{
	struct ibv_mr mr;
	uint64_t at = 0;

	fill_region(&mr, &one, 5);
	keys_add(&mr, 0x1000, (void *)0x70000, 4096);
	assert_int_equal(keys_find(&one, 5, 0x1010, 16, &at), PAYLOAD_WHOLE);
	assert_int_equal(at, 0x70010);
	assert_int_equal(keys_find(&one, 5, 0x1ff0, 16, &at), PAYLOAD_WHOLE);
	assert_int_equal(at, 0x70ff0);
	assert_int_equal(keys_find(&one, 5, 0x1ff0, 17, &at), PAYLOAD_KEY);
	assert_int_equal(keys_find(&one, 5, 0xfff, 1, &at), PAYLOAD_KEY);
	assert_int_equal(keys_find(&other, 5, 0x1010, 16, &at), PAYLOAD_KEY);
	assert_int_equal(keys_find(&one, 6, 0x1010, 16, &at), PAYLOAD_KEY);
	keys_remove(&mr);
	assert_int_equal(keys_find(&one, 5, 0x1010, 16, &at), PAYLOAD_KEY);
}

TEST(all_of_the_address_space)
{
	struct ibv_mr mr;
	uint64_t at = 0;

	fill_region(&mr, &one, 7);
	keys_add(&mr, 0, NULL, SIZE_MAX);
	assert_int_equal(keys_find(&one, 7, 0x7fff12345678, 1 << 20, &at), PAYLOAD_WHOLE);
	assert_true(at == 0x7fff12345678);
	keys_remove(&mr);
}

TEST(a_key_comes_back_as_anothers)
{
	struct ibv_mr first, second;
	uint64_t at = 0;

	fill_region(&first, &one, 5);
	fill_region(&second, &one, 5);
	keys_add(&first, 0x1000, (void *)0x70000, 4096);
	keys_add_foreign(&second); /* the destruction of the first was not observed */
	assert_int_equal(keys_find(&one, 5, 0x1000, 1, &at), PAYLOAD_DEVICE);
	keys_remove(&first);
	assert_int_equal(keys_find(&one, 5, 0x1000, 1, &at), PAYLOAD_DEVICE);
	keys_remove(&second);
}

TEST(a_key_of_another_context_is_another)
{
	struct ibv_mr first, second;
	uint64_t at = 0;

	fill_region(&first, &one, 5);
	fill_region(&second, &other, 5);
	keys_add(&first, 0x1000, (void *)0x70000, 4096);
	keys_add(&second, 0x1000, (void *)0x90000, 4096);
	assert_int_equal(keys_find(&one, 5, 0x1000, 1, &at), PAYLOAD_WHOLE);
	assert_int_equal(at, 0x70000);
	assert_int_equal(keys_find(&other, 5, 0x1000, 1, &at), PAYLOAD_WHOLE);
	assert_int_equal(at, 0x90000);
	keys_remove(&second);
	assert_int_equal(keys_find(&one, 5, 0x1000, 1, &at), PAYLOAD_WHOLE);
	assert_int_equal(keys_find(&other, 5, 0x1000, 1, &at), PAYLOAD_KEY);
	keys_remove(&first);
}

TEST(a_child_has_no_regions_of_its_parent)
{
	struct ibv_mr mr;
	uint64_t at = 0;

	fill_region(&mr, &one, 5);
	keys_add(&mr, 0x1000, (void *)0x70000, 4096);
	keys_forget_all();
	assert_int_equal(keys_find(&one, 5, 0x1000, 1, &at), PAYLOAD_KEY);
	keys_add(&mr, 0x1000, (void *)0x90000, 4096);
	assert_int_equal(keys_find(&one, 5, 0x1000, 1, &at), PAYLOAD_WHOLE);
	assert_int_equal(at, 0x90000);
	keys_remove(&mr);
}

TEST(a_region_may_be_given_another_key)
{
	struct ibv_mr mr;
	uint64_t at = 0;

	fill_region(&mr, &one, 5);
	keys_add(&mr, 0x1000, (void *)0x70000, 4096);
	mr.lkey = 9;
	keys_change_key(&mr);
	assert_int_equal(keys_find(&one, 5, 0x1000, 1, &at), PAYLOAD_KEY);
	assert_int_equal(keys_find(&one, 9, 0x1000, 1, &at), PAYLOAD_WHOLE);
	assert_int_equal(at, 0x70000);
	keys_remove(&mr);
}

TEST(many_come_and_go)
{
	static struct ibv_mr mrs[1000];
	uint64_t at;

	for (uint32_t round = 0; round < 10; round++) {
		for (uint32_t i = 0; i < 1000; i++) {
			fill_region(&mrs[i], &one, i << 8 | round);
			keys_add(&mrs[i], i, (void *)(uintptr_t)(i * 100000ull), 10);
		}
		for (uint32_t i = 0; i < 1000; i++) {
			assert_int_equal(keys_find(&one, i << 8 | round, i, 10, &at),
					 PAYLOAD_WHOLE);
			assert_int_equal(at, i * 100000ull);
		}
		for (uint32_t i = 0; i < 1000; i++)
			keys_remove(&mrs[i]);
	}
	assert_int_equal(keys_find(&one, 5 << 8, 5, 1, &at), PAYLOAD_KEY);
}
