/*
 * What is kept of payloads, as text
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/wire/payload.h"

static void modes_are_read(void **state)
{
	uint64_t mode = 1;

	(void)state;
	assert_true(payload_parse(NULL, &mode) && mode == PAYLOAD_NONE);
	assert_true(payload_parse("none", &mode) && mode == PAYLOAD_NONE);
	assert_true(payload_parse("hash", &mode) && mode == PAYLOAD_HASH);
	assert_true(payload_parse("full", &mode) && mode == PAYLOAD_FULL);
	assert_true(payload_parse("4K", &mode) && mode == 4096);
	assert_true(payload_parse("64M", &mode) && mode == 64 << 20);
}

static void others_are_refused(void **state)
{
	static const char *const bad[] = { "0", "-1", "x", "4Q", "64M1", "65M", "all" };
	uint64_t mode = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(payload_parse(bad[i], &mode));
	assert_true(mode == 7);
}

static void texts_are_read_back(void **state)
{
	static const uint64_t modes[] = { PAYLOAD_NONE, PAYLOAD_HASH, PAYLOAD_FULL, 1, 4096 };
	char text[24];
	uint64_t mode;

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		assert_true(payload_parse(payload_text(modes[i], text), &mode) && mode == modes[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes_are_read),
		cmocka_unit_test(others_are_refused),
		cmocka_unit_test(texts_are_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
