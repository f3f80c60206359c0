/*
 * The decisions of a mutator
 */
#include "tests/fuzz/dice.h"

#include <stdbool.h>
#include <string.h>

struct dice dice_of_seed(uint64_t seed, uint64_t index)
{
	uint64_t z = seed * 0x9e3779b97f4a7c15u + index * 0xbf58476d1ce4e5b9u + 1;

	z = (z ^ (z >> 30)) * 0x94d049bb133111ebu; /* numbers of neighbouring seeds are unrelated */
	return (struct dice){ .state = (z ^ (z >> 31)) | 1 };
}

struct dice dice_of_bytes(const uint8_t *bytes, size_t n)
{
	return (struct dice){ .bytes = bytes, .left = n };
}

static uint64_t draw_number(struct dice *dice, unsigned int bytes)
{
	uint64_t n = 0;

	if (dice->state) {
		dice->state ^= dice->state << 13;
		dice->state ^= dice->state >> 7;
		dice->state ^= dice->state << 17;
		return dice->state * 0x2545f4914f6cdd1du >> (64 - 8 * bytes);
	}
	for (; bytes && dice->left; bytes--, dice->left--)
		n = n << 8 | *dice->bytes++;
	return n;
}

uint32_t dice_roll(struct dice *dice, uint32_t sides)
{
	if (sides < 2)
		return 0;
	return (uint32_t)(draw_number(dice, sides <= 256 ? 1 : sides <= 65536 ? 2 : 4) % sides);
}

uint64_t dice_number(struct dice *dice)
{
	/* clang-format off */
	static const uint64_t limits[] = {
		0, 1, 2, 3, 7, 31, 63, 64, 127, 128, 255, 256, 4095, 4096, 8191, 8192, 65535, 65536,
		(1 << 20) + 1, 1 << 24, (1 << 24) + 1, INT32_MAX, 1u << 31, UINT32_MAX, 1ull << 32,
		1ull << 40, 1ull << 48, INT64_MAX, 1ull << 63, (1ull << 63) + 1, UINT64_MAX - 1,
		UINT64_MAX,
	};
	/* clang-format on */

	switch (dice_roll(dice, 4)) {
	case 0:
		return draw_number(dice, 8);
	case 1:
		return draw_number(dice, 2);
	default:
		return limits[dice_roll(dice, sizeof(limits) / sizeof(*limits))];
	}
}

static const char *deep_json(struct dice *dice, size_t *ret_bytes)
{
	static char text[1 << 18];
	static const char *const opens[] = { "[", "{\"a\":", "[{\"a\":", "[0,", "\"" };
	const char *open = opens[dice_roll(dice, 5)];
	size_t times = 1ul << dice_roll(dice, 16), n = strlen(open), used = 0;

	while (times-- && used + n <= sizeof(text)) {
		memcpy(text + used, open, n);
		used += n;
	}
	*ret_bytes = used;
	return text;
}

const char *dice_text(struct dice *dice, size_t *ret_bytes)
{
	/* clang-format off */
	static const char *const texts[] = {
		"", "\x1b]0;title\x07\x1b[31mred\x1b[2J", "\302\23331m\xc2\x85\xe2\x80\xae",
		"\xff\xfe\x80",
		"%s%n%s%n%999999d", "/dev/stdin", "/proc/self/mem", "../../../../etc/passwd", "-",
		"--help",
		"a\nb\rc\td", "NaN", "-1", "18446744073709551616", "0x", "1e999", "null", "{}",
		"[]",
		"{\"ret\":null}", "{\"attr\":{\"qp_state\":-1}}", "{\"wr\":[{\"num_sge\":-1}]}",
		"ibv_create_qp",
		"ibv_reg_mr", "ibv_poll_cq", "qp1", "1:1", "'); DROP TABLE call; --",
		"\\u0000\\ud800",
	};
	/* clang-format on */
	const char *text;

	if (!dice_roll(dice, 6))
		return deep_json(dice, ret_bytes);
	text = texts[dice_roll(dice, sizeof(texts) / sizeof(*texts))];
	*ret_bytes = strlen(text);
	return text;
}

static void spoil_word(struct dice *dice, uint8_t *at, size_t left)
{
	size_t size = 1ul << dice_roll(dice, 4);
	uint64_t value = dice_number(dice), big = __builtin_bswap64(value) >> (64 - 8 * size);

	if (size <= left)
		memcpy(at, dice_roll(dice, 2) ? &value : &big, size);
}

void dice_spoil(struct dice *dice, uint8_t *bytes, size_t n)
{
	for (uint32_t times = 1 + dice_roll(dice, 8); n && times; times--) {
		size_t at = dice_roll(dice, (uint32_t)n), other, length;

		switch (dice_roll(dice, 4)) {
		case 0:
			bytes[at] ^= (uint8_t)(1u << dice_roll(dice, 8));
			break;
		case 1:
			other = dice_roll(dice, (uint32_t)n);
			length = dice_roll(dice, 4096) + 1;
			length = length > n - at ? n - at : length;
			length = length > n - other ? n - other : length;
			memmove(bytes + at, bytes + other, length);
			break;
		default:
			spoil_word(dice, bytes + at, n - at);
		}
	}
}
