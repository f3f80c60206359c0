/*
 * Words for numbers
 */
#include "analyzer/model/words.h"

#include "analyzer/model/key.h"
#include "analyzer/model/queue.h"
#include "tests/analyzer/ends.h"

TEST(a_span_is_earlier_later_or_about_now)
{
	char text[48];

	assert_string_equal(words_format_earlier(2000, 0, text), "2000 ns earlier");
	assert_string_equal(words_format_earlier(-2000, 1999, text), "2000 ns later");
	assert_string_equal(words_format_earlier(2000, 2000, text), "at about the same time");
	assert_string_equal(words_format_earlier(-2000, 2000, text), "at about the same time");
	assert_string_equal(words_format_earlier(0, 0, text), "at about the same time");
}

TEST(spans_have_no_unit_too_small)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {
		{ 0, "0 ns" },           { 9999, "9999 ns" },      { 10000, "10.0 us" },
		{ 999949, "999.9 us" },  { 999950, "1.0 ms" },     { 999949999, "999.9 ms" },
		{ 999950000, "1.00 s" }, { 1500000000, "1.50 s" },
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(words_format_span(rows[i].ns, text), rows[i].text);
}

TEST(one_has_no_plural)
{
	static const struct {
		uint64_t n;
		const char *what, *text;
	} rows[] = {
		{ 0, "region", "0 regions" }, { 1, "region", "1 region" },
		{ 2, "entry", "2 entries" },  { 1, "entry", "1 entry" },
		{ 2, "relay", "2 relays" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(WORDS_N(rows[i].n, rows[i].what), rows[i].text);
}

TEST(an_address_outside_a_region_is_related_to_it)
{
	static const struct key key = { .addr = 0x7f0012340000, .length = 4096 };
	static const struct {
		uint64_t addr, length;
		const char *text;
	} rows[] = {
		{ 0x7f0012340000, 4097, "the access ends 1 byte past its end" },
		{ 0x7f0012340000, 4136,
		  "the access ends 40 bytes past its end, the length of a GRH" },
		{ 0x7f001233fff0, 32, "the access begins 16 bytes before its start" },
		{ 0x7f0012340010, 4096,
		  "the access ends 16 bytes past its end, and has its full length: was the length "
		  "of a header not subtracted?" },
		{ 0x7f0012340010, 4097, "the access ends 17 bytes past its end" },
		{ 0x7f0012340101, 4096, "the access ends 257 bytes past its end" },
		{ 0x7f001233ffe0, 4096,
		  "the access begins 32 bytes before its start, and has its full length: was "
		  "the length of a header not subtracted?" },
		{ 0x7f001233ffe0, 4128,
		  "the access begins 32 bytes before its start, and ends at its end: does a header "
		  "precede it?" },
		{ 0x7f0012341000, 8, "the access begins exactly at its end" },
		{ 0x7f0012341001, 8, "the access begins 1 byte past its end" },
		{ 0x7f0012341014, 20,
		  "the access lies past its end, by up to 40 bytes, the length of a GRH" },
		{ 0x7f0012342001, 8, "they do not overlap" },
		{ 0x7f001233fff0, 16, "they do not overlap" },
		{ 0, 8, "the address is 0" },
		{ 1, 8, "the address looks like an offset into it" },
		{ 4095, 1, "the address looks like an offset into it" },
		{ 4096, 1, "they do not overlap" },
		{ 0x12340010, 8, "the upper 32 bits of the address are missing" },
		{ 0x12341000, 8, "they do not overlap" },
		{ 0x100034127f0000, 8, "they do not overlap" },
		{ 0x10003412007f0000, 8, "the bytes of the address are in reverse order" },
	};
	char text[WORDS_RELATION];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(
			words_describe_relation(&key, rows[i].addr, rows[i].length, text),
			rows[i].text);
}

TEST(bytes_have_the_largest_unit_that_fits)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0 bytes" },
		{ 1, "1 byte" },
		{ 1023, "1023 bytes" },
		{ 1024, "1 KiB" },
		{ 1536, "1.5 KiB" },
		{ 65536, "64 KiB" },
		{ (1 << 20) - 1024, "1023 KiB" },
		{ 1 << 20, "1 MiB" },
		{ 5ull << 30, "5 GiB" },
		{ 3ull << 40, "3 TiB" },
		{ 2048ull << 40, "2048 TiB" },
	};
	char text[32];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(words_format_bytes(rows[i].bytes, text), rows[i].text);
}

TEST(the_lowest_bit_is_named)
{
	static const char *const doubts[] = {
		"it was created before the recording, or imported",
		"events are missing",
		"posts or polls bypass the verbs",
		"a completion had no request",
		"a completion in error may belong to several requests",
	};

	for (unsigned int i = 0; i < 5; i++) {
		assert_string_equal(words_explain_doubt(1u << i), doubts[i]);
		assert_string_equal(words_explain_doubt(~0u << i), doubts[i]);
	}
	assert_string_equal(words_explain_doubt(0), "it is");
	assert_string_equal(words_explain_doubt(1u << 5), "it is");
	assert_string_equal(words_name_access(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ),
			    "IBV_ACCESS_REMOTE_WRITE");
	assert_string_equal(words_name_access(IBV_ACCESS_REMOTE_ATOMIC),
			    "IBV_ACCESS_REMOTE_ATOMIC");
	assert_string_equal(words_name_access(0), "an access flag");
	assert_string_equal(words_name_access(1u << 31), "an access flag");
}

TEST(the_address_may_be_the_programs)
{
	const struct key key = { .addr = 0x10000, .memory = 0x7f0000000000, .length = 4096 };
	const struct key same = { .addr = 0x10000, .memory = 0x10000, .length = 4096 };
	char text[WORDS_RELATION];

	assert_string_equal(words_describe_relation(&key, 0x7f0000000000, 8, text),
			    "it is the program's address of the region, not its iova");
	assert_string_equal(words_describe_relation(&key, 0x7f0000000fff, 1, text),
			    "it is the program's address of the region, not its iova");
	assert_string_equal(words_describe_relation(&key, 0x7f0000001000, 1, text),
			    "they do not overlap");
	assert_string_equal(words_describe_relation(&same, 0x20000, 1, text),
			    "they do not overlap");
}

/* A region that was moved to another domain, and a key without an object. */
TEST(a_key_is_named_with_its_domain)
{
	struct ibv_pd other = { .context = &ends[1].context };
	struct ibv_mr mr;
	struct key key = { .process = 2 };
	struct story s;
	char text[64];

	begin_story(&s);
	story_do(&s, 1, VERB_alloc_pd, 34, W(&other), W(&ends[1].context));
	mr = ends[1].mr;
	mr.lkey = 0x55;
	register_as(&s, 1, &mr, IBV_ACCESS_LOCAL_WRITE);
	story_check(&s, NULL);
	for (uint32_t id = 1; trace_object(s.trace, id); id++)
		if (trace_object(s.trace, id)->kind == OBJECT_mr)
			key.object = id;
	key.created.time = (int64_t)s.now;
	key.pd = W(&ends[1].pd);
	assert_string_equal(words_describe_key(s.trace, &key, text, sizeof(text)), "mr2 of pd1");
	key.pd = W(&other);
	assert_string_equal(words_describe_key(s.trace, &key, text, sizeof(text)), "mr2 of pd2");
	key.created.time = 1;
	assert_string_equal(words_describe_key(s.trace, &key, text, sizeof(text)), "mr2");
	key.object = 0;
	key.created.time = (int64_t)s.now;
	assert_string_equal(words_describe_key(s.trace, &key, text, sizeof(text)),
			    "a region of pd2");
	key.pd = 7;
	assert_string_equal(words_describe_key(s.trace, &key, text, sizeof(text)), "a region");
	assert_string_equal(words_name_process(s.trace, 2, text, sizeof(text)), "process 2 (app)");
	assert_string_equal(words_name_process(s.trace, 9, text, sizeof(text)), "process 9");
	story_end(&s);
}
