/*
 * Parquet's encodings of values
 */
#include "cli/lake/encode.h"

#include <stdlib.h>
#include <string.h>

#include "cli/lake/thrift.h"

enum {
	GROUP = 8,             /* values that are packed together */
	BLOCK = 128,           /* of DELTA_BINARY_PACKED */
	MINIBLOCK = BLOCK / 4, /* values of one width */
};

void encode_plain(struct text *to, uint64_t number, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		text_char(to, (char)(number >> 8 * i));
}

/* Values of @width bits, least bit first; @n is a multiple of 8, so whole bytes. */
static void pack_bits(struct text *to, const uint64_t *values, size_t n, unsigned int width)
{
	uint64_t bits = 0;
	unsigned int used = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned int space = 64 - used;

		bits |= values[i] << used;
		used += width;
		if (used < 64)
			continue;
		text_add(to, (const char *)&bits, sizeof(bits)); /* a little-endian machine */
		used -= 64;
		bits = used ? values[i] >> space : 0;
	}
	text_add(to, (const char *)&bits, (used + 7) / 8);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "pack_bits()");

static size_t count_run(const uint32_t *values, size_t n)
{
	size_t run = 1;

	while (run < n && values[run] == values[0])
		run++;
	return run;
}

void encode_run(struct text *to, uint32_t value, size_t n, unsigned int width)
{
	thrift_varint(to, n << 1);
	encode_plain(to, value, (width + 7) / 8);
}

/* @n values; the last group may be shorter, if it is the last of all. */
static void put_groups(struct text *to, const uint32_t *values, size_t n, unsigned int width)
{
	uint64_t group[GROUP];

	if (!n)
		return;
	thrift_varint(to, (n + GROUP - 1) / GROUP << 1 | 1);
	for (size_t i = 0; i < n; i += GROUP) {
		for (size_t k = 0; k < GROUP; k++)
			group[k] = i + k < n ? values[i + k] : 0;
		pack_bits(to, group, GROUP, width);
	}
}

void encode_rle(struct text *to, const uint32_t *values, size_t n, unsigned int width)
{
	size_t from = 0, at = 0; /* values from @from on are to be packed */

	while (at < n) {
		size_t run = count_run(values + at, n - at);

		/* packed values before a run are whole groups */
		while (run && (at - from) % GROUP && run > 0) {
			at++;
			run--;
		}
		if (run < 2 * GROUP) {
			at += run;
			continue;
		}
		put_groups(to, values + from, at - from, width);
		encode_run(to, values[at], run, width);
		at += run;
		from = at;
	}
	put_groups(to, values + from, n - from, width);
}

/* The deltas of a block to the one before, less the least of them, and the widths. */
struct block {
	int64_t least;
	uint64_t deltas[BLOCK];
	unsigned int widths[BLOCK / MINIBLOCK];
};

/* Block of the @n values after values[0]; arithmetic is modulo 2^64. */
static void fill_block(struct block *block, const int64_t *values, size_t n)
{
	uint64_t all[BLOCK / MINIBLOCK] = { 0 };

	block->least = INT64_MAX;
	for (size_t i = 0; i < n; i++) {
		int64_t delta = (int64_t)((uint64_t)values[i + 1] - (uint64_t)values[i]);

		block->deltas[i] = (uint64_t)delta;
		block->least = delta < block->least ? delta : block->least;
	}
	for (size_t i = 0; i < n; i++) {
		block->deltas[i] -= (uint64_t)block->least;
		all[i / MINIBLOCK] |= block->deltas[i];
	}
	for (size_t i = n; i < BLOCK; i++)
		block->deltas[i] = 0;
	for (int m = 0; m < BLOCK / MINIBLOCK; m++)
		block->widths[m] = encode_width(all[m]);
}

void encode_delta(struct text *to, const int64_t *values, size_t n)
{
	struct block block;

	thrift_varint(to, BLOCK);
	thrift_varint(to, BLOCK / MINIBLOCK);
	thrift_varint(to, n);
	thrift_varint(to, thrift_zigzag(n ? values[0] : 0));
	for (size_t at = 1; at < n; at += BLOCK) {
		size_t count = n - at < BLOCK ? n - at : BLOCK;

		fill_block(&block, values + at - 1, count);
		thrift_varint(to, thrift_zigzag(block.least));
		for (int m = 0; m < BLOCK / MINIBLOCK; m++)
			text_char(to, (char)block.widths[m]);
		for (size_t m = 0; m * MINIBLOCK < count; m++)
			if (block.widths[m])
				pack_bits(to, block.deltas + m * MINIBLOCK, MINIBLOCK,
					  block.widths[m]);
	}
}

size_t encode_delta_size(const int64_t *values, size_t n)
{
	struct block block;
	size_t size = 0;

	for (size_t at = 1; at < n; at += BLOCK) {
		size_t count = n - at < BLOCK ? n - at : BLOCK;

		fill_block(&block, values + at - 1, count);
		size += 1 + BLOCK / MINIBLOCK;
		for (size_t m = 0; m * MINIBLOCK < count; m++)
			size += block.widths[m] * MINIBLOCK / 8;
	}
	return size;
}

static size_t count_common(const char *a, size_t na, const char *b, size_t nb)
{
	size_t n = 0;

	while (n < na && n < nb && a[n] == b[n])
		n++;
	return n;
}

void encode_texts(struct text *to, const char *bytes, const uint64_t *ends, size_t n)
{
	int64_t *common = malloc(2 * (n + 1) * sizeof(*common)), *rest = common + n + 1;
	uint64_t from = 0, length = 0;
	const char *last = bytes;
	struct text tails = { 0 };

	if (!common) {
		to->failed = true;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const char *text = bytes + from;
		size_t same = count_common(last, length, text, ends[i] - from);

		length = ends[i] - from;
		common[i] = (int64_t)same;
		rest[i] = (int64_t)(length - same);
		text_add(&tails, text + same, length - same);
		last = text;
		from = ends[i];
	}
	encode_delta(to, common, n);
	encode_delta(to, rest, n);
	text_add(to, tails.at ? tails.at : "", tails.used);
	to->failed |= tails.failed;
	text_fini(&tails);
	free(common);
}
