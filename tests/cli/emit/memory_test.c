/*
 * Buffers of the C program, and the meaning of a key
 */
#include "cli/emit/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <infiniband/verbs.h>

#include "tests/test.h"

enum { PROCESS = 1, OTHER = 2, MR = 3, MW = 4, LKEY = 0x10, RKEY = 0x20 };

static struct program program;
static struct memory memory;

static int forget_all(void **state)
{
	(void)state;
	memory_fini(&memory);
	program_fini(&program);
	memset(&memory, 0, sizeof(memory));
	memset(&program, 0, sizeof(program));
	return 0;
}

FIXTURE(forget_all, forget_all);

static void learn_call(enum verb verb, uint32_t object, int64_t time, const char *in,
		       const char *out)
{
	struct call call = { .verb = verb,
			     .begin = time,
			     .end = time,
			     .object = object,
			     .args = args_new(in, strlen(in)),
			     .out = args_new(out, strlen(out)) };
	struct trace_event event = {
		.kind = TRACE_RETURN, .process = PROCESS, .time = time, .call = &call
	};

	assert_int_equal(memory_learn(&memory, &program, &event), 0);
	args_unref(call.args);
	args_unref(call.out);
}

/* Object @object at @addr, with its own keys. */
static void register_at(uint32_t object, int64_t time, uint64_t addr, uint64_t length)
{
	char in[128], out[128];

	snprintf(in, sizeof(in), "{\"addr\":%llu,\"length\":%llu,\"access\":1}",
		 (unsigned long long)addr, (unsigned long long)length);
	snprintf(out, sizeof(out), "{\"ret\":{\"lkey\":%u,\"rkey\":%u}}", LKEY + object,
		 RKEY + object);
	learn_call(VERB_reg_mr, object, time, in, out);
}

static uint32_t find_object(uint32_t key, bool remote, int64_t time)
{
	const struct region *region = memory_find(&memory, PROCESS, key, remote, time);

	return region ? region->object : 0;
}

/* The text of a request's address, with its slots unresolved. */
static const char *text_of(const struct region *region, uint64_t addr, bool pointer)
{
	phrase_fini(&program.phrase);
	memory_add_address(&memory, &program, region, PROCESS, addr, pointer);
	return program.phrase.text.at;
}

TEST(regions_that_overlap_lie_in_one_buffer)
{
	register_at(MR, 1, 0x1000, 0x100);
	register_at(MR + 1, 2, 0x1080, 0x100);
	register_at(MR + 2, 3, 0x4000, 0x10);
	assert_int_equal(memory_finish(&memory), 0);
	assert_int_equal(memory.nbuffers, 2);
	assert_int_equal(memory.buffers[0].length, 0x180);
	assert_true(memory_has(&memory, PROCESS, 0x117f));
	assert_false(memory_has(&memory, PROCESS, 0x1180));
	assert_false(memory_has(&memory, OTHER, 0x1000));
}

TEST(a_key_means_the_region_that_lives)
{
	register_at(MR, 1, 0x1000, 0x100);
	learn_call(VERB_dereg_mr, MR, 5, "{}", "{}");
	learn_call(VERB_reg_mr, MR + 1, 8, "{\"addr\":8192,\"length\":16}",
		   "{\"ret\":{\"lkey\":19,\"rkey\":35}}");
	assert_int_equal(find_object(LKEY + MR, false, 0), 0);
	assert_int_equal(find_object(LKEY + MR, false, 4), MR);
	assert_int_equal(find_object(LKEY + MR, false, 6),
			 MR); /* until then the object had that key */
	assert_int_equal(find_object(LKEY + MR, false, 8), MR + 1);
	assert_int_equal(find_object(RKEY + MR, false, 8), 0);
	assert_int_equal(find_object(RKEY + MR, true, 8), MR + 1);
	assert_null(memory_find(&memory, OTHER, LKEY + MR, false, 4));
}

TEST(a_region_that_is_deregistered_lives_no_more)
{
	register_at(MR, 1, 0x1000, 0x100);
	learn_call(VERB_dereg_mr, MR, 5, "{}", "{}");
	assert_true(memory_is_live(memory_of(&memory, MR, 4), 4));
	assert_false(memory_is_live(memory_of(&memory, MR, 5), 5));
	assert_null(memory_of(&memory, MR, 0));
}

TEST(a_region_that_is_moved_keeps_the_key_that_did_not_change)
{
	char flags[96];

	register_at(MR, 1, 0x1000, 0x100);
	snprintf(flags, sizeof(flags), "{\"flags\":%d,\"addr\":20480,\"length\":64}",
		 IBV_REREG_MR_CHANGE_TRANSLATION);
	learn_call(VERB_rereg_mr, MR, 5, flags, "{\"mr\":{\"rkey\":77}}");
	assert_int_equal(memory_of(&memory, MR, 4)->addr, 0x1000);
	assert_int_equal(memory_of(&memory, MR, 5)->addr, 0x5000);
	assert_int_equal(memory_of(&memory, MR, 5)->length, 64);
	assert_int_equal(memory_of(&memory, MR, 5)->lkey, LKEY + MR);
	assert_int_equal(memory_of(&memory, MR, 5)->rkey, 77);
}

TEST(a_window_that_is_bound_has_another_key)
{
	learn_call(VERB_alloc_mw, MW, 1, "{}", "{\"ret\":{\"rkey\":64}}");
	learn_call(VERB_bind_mw, MW, 5, "{\"mw_bind\":{\"bind_info\":{\"addr\":4096}}}",
		   "{\"mw\":{\"rkey\":65}}");
	assert_int_equal(find_object(64, true, 4), MW);
	assert_int_equal(find_object(65, true, 4), 0);
	assert_int_equal(find_object(65, true, 5), MW);
	assert_int_equal(memory_find(&memory, PROCESS, 65, true, 5)->addr, 0x1000);
}

TEST(an_address_is_named_by_its_buffer)
{
	register_at(MR, 1, 0x1000, 0x100);
	assert_int_equal(memory_finish(&memory), 0);
	assert_string_equal(text_of(memory.regions, 0x1010, false), "(uintptr_t)buffer1" SLOT "o");
	assert_int_equal(program.phrase.values[0], 0x10);
	assert_string_equal(text_of(NULL, 0x1000, true), "buffer1" SLOT "o");
	program.shared = true;
	assert_string_equal(text_of(NULL, 0x1000, true), "p1_buffer1" SLOT "o");
}

TEST(an_address_that_no_region_has_stands_as_it_is)
{
	register_at(MR, 1, 0x1000, 0x100);
	assert_int_equal(memory_finish(&memory), 0);
	assert_string_equal(text_of(NULL, 0x2000, false), SLOT "x");
	assert_int_equal(program.phrase.values[0], 0x2000);
}

TEST(an_address_by_iova_stands_as_it_is)
{
	learn_call(VERB_reg_mr_iova, MR, 1, "{\"addr\":4096,\"length\":256,\"iova\":16}",
		   "{\"ret\":{\"lkey\":1,\"rkey\":2}}");
	assert_int_equal(memory_finish(&memory), 0);
	assert_string_equal(text_of(memory.regions, 0x18, false), SLOT "x");
	assert_int_equal(program.phrase.values[0], 0x18);
}
