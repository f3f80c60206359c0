/*
 * Stored parts of payloads, as text
 */
#include "core/wire/payload.h"
#include "tests/test.h"

TEST(modes_are_read)
{
	uint64_t mode = 1;

	assert_true(payload_parse(NULL, &mode) && mode == PAYLOAD_NONE);
	assert_true(payload_parse("none", &mode) && mode == PAYLOAD_NONE);
	assert_true(payload_parse("hash", &mode) && mode == PAYLOAD_HASH);
	assert_true(payload_parse("full", &mode) && mode == PAYLOAD_FULL);
	assert_true(payload_parse("4K", &mode) && mode == 4096);
	assert_true(payload_parse("64M", &mode) && mode == 64 << 20);
}

TEST(others_are_refused)
{
	static const char *const bad[] = { "0", "-1", "x", "4Q", "64M1", "65M", "all" };
	uint64_t mode = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(payload_parse(bad[i], &mode));
	assert_true(mode == 7);
}

TEST(texts_are_read_back)
{
	static const uint64_t modes[] = { PAYLOAD_NONE, PAYLOAD_HASH, PAYLOAD_FULL, 1, 4096 };
	char text[24];
	uint64_t mode;

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		assert_true(payload_parse(payload_text(modes[i], text), &mode) && mode == modes[i]);
}
