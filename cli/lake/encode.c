/*
 * Parquet's encodings of values
 */
#include "cli/lake/encode.h"

#include <stdlib.h>
#include <string.h>

#include "cli/lake/thrift.h"
#include "core/store/vtab/computed.h"

enum {
	GROUP = 8,             /* number of values that are packed together */
	BLOCK = 128,           /* of DELTA_BINARY_PACKED */
	MINIBLOCK = BLOCK / 4, /* number of values with one width */
	SAMPLES = 32,          /* blocks */
	KNOWN = 8,             /* threads whose last event is known */
	/* digits at the end of a name: most names differ only in these from the one before */
	DIGITS = 4,
	NAMES = 256, /* number of names that are written together */
	COPIED = 16, /* bytes of a name that are copied at once */
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied");

void encode_plain(struct text *to, uint64_t number, unsigned int bytes)
{
	text_add(to, (const char *)&number, bytes);
}

static size_t count_run(const uint16_t *values, size_t n)
{
	uint64_t four = values[0] * 0x0001000100010001ull, next;
	size_t run = 1;

	while (run + 4 <= n && (memcpy(&next, values + run, sizeof(next)), next == four))
		run += 4;
	while (run < n && values[run] == values[0])
		run++;
	return run;
}

void encode_run(struct text *to, uint32_t value, size_t n, unsigned int width)
{
	thrift_put_varint(to, n << 1);
	encode_plain(to, value, (width + 7) / 8);
}

/* Pack eight values, least significant bit first, into @width bytes; writes up to 16 bytes. */
static char *pack_group(char *to, const uint16_t *values, unsigned int width)
{
	unsigned __int128 all;
	uint64_t low = 0, high = 0;

	for (unsigned int k = 0; k < GROUP / 2; k++) {
		low |= (uint64_t)values[k] << k * width;
		high |= (uint64_t)values[GROUP / 2 + k] << k * width;
	}
	all = low | (unsigned __int128)high << GROUP / 2 * width;
	memcpy(to, &all, sizeof(all));
	return to + width;
}

/* Pack @n values; only the last group of all may be shorter. */
static void put_groups(struct text *to, const uint16_t *values, size_t n, unsigned int width)
{
	size_t groups = (n + GROUP - 1) / GROUP;
	uint16_t last[GROUP] = { 0 };
	char *at;

	if (!n)
		return;
	thrift_put_varint(to, groups << 1 | 1);
	at = text_space(to, groups * width + sizeof(unsigned __int128));
	if (!at)
		return;
	for (size_t i = 0; i + GROUP <= n; i += GROUP)
		at = pack_group(at, values + i, width);
	if (n % GROUP) {
		memcpy(last, values + n - n % GROUP, n % GROUP * sizeof(*last));
		pack_group(at, last, width);
	}
	to->used += groups * width;
}

void encode_rle(struct text *to, const uint16_t *values, size_t n, unsigned int width)
{
	size_t from = 0, at = 0; /* values from @from on are to be packed, in whole groups */

	while (at < n) {
		size_t run = count_run(values + at, n - at);

		if (run < 2 * GROUP) {
			at += n - at < GROUP ? n - at : GROUP;
			continue;
		}
		put_groups(to, values + from, at - from, width);
		encode_run(to, values[at], run, width);
		at += run;
		from = at;
	}
	put_groups(to, values + from, n - from, width);
}

/* The deltas of a block's values, minus the smallest delta, and the bit widths. */
struct block {
	int64_t least;
	uint64_t deltas[BLOCK];
	unsigned int widths[BLOCK / MINIBLOCK];
};

/*
 * Fill a block from the @n values after values[0]; arithmetic is modulo 2^64. Inlined, so that the
 * loops of a whole block have a constant length.
 */
static inline __attribute__((always_inline)) void fill_deltas(struct block *block,
							      const int64_t *values, size_t n)
{
	uint64_t all[BLOCK / MINIBLOCK] = { 0 }, *deltas = block->deltas;
	int64_t least = INT64_MAX, last = values[0];

#pragma GCC unroll 8
	for (size_t i = 0; i < n; i++) {
		int64_t next = values[i + 1], delta = (int64_t)((uint64_t)next - (uint64_t)last);

		deltas[i] = (uint64_t)delta;
		least = delta < least ? delta : least;
		last = next;
	}
	for (size_t i = n; i < BLOCK; i++)
		deltas[i] = (uint64_t)least;
	for (int m = 0; m < BLOCK / MINIBLOCK; m++) {
#pragma GCC unroll 8
		for (size_t i = 0; i < MINIBLOCK; i++)
			all[m] |= deltas[m * MINIBLOCK + i] -= (uint64_t)least;
		block->widths[m] = encode_width(all[m]);
	}
	block->least = least;
}

static void fill_block(struct block *block, const int64_t *values, size_t n)
{
	if (n == BLOCK)
		fill_deltas(block, values, BLOCK);
	else
		fill_deltas(block, values, n);
}

/* Pack a miniblock, @joined values at a time, which fit in 64 bits. */
static inline __attribute__((always_inline)) char *
pack_joined(char *to, const uint64_t *values, unsigned int width, unsigned int joined)
{
	unsigned int used = 0, all = width * joined;
	uint64_t bits = 0;

	for (int i = 0; i < MINIBLOCK; i += (int)joined) {
		uint64_t some = 0;

#pragma GCC unroll 4
		for (unsigned int k = joined; k > 0; k--)
			some = (joined > 1 ? some << width : 0) | values[(unsigned int)i + k - 1];
		bits |= some << used;
		used += all;
		if (used < 64)
			continue;
		memcpy(to, &bits, sizeof(bits));
		to += sizeof(bits);
		used -= 64;
		bits = used ? some >> (all - used) : 0;
	}
	memcpy(to, &bits, sizeof(bits));
	return to + used / 8;
}

/* Pack a miniblock into MINIBLOCK / 8 * @width bytes; writes up to 8 bytes more. */
static char *pack_miniblock(char *to, const uint64_t *values, unsigned int width)
{
	if (!width)
		return to;
	return width <= 16   ? pack_joined(to, values, width, 4)
	       : width <= 32 ? pack_joined(to, values, width, 2)
			     : pack_joined(to, values, width, 1);
}

static void put_block(struct text *to, const struct block *block, size_t count)
{
	char *start, *at;

	thrift_put_varint(to, thrift_zigzag(block->least));
	at = start = text_space(to, sizeof(block->deltas) + sizeof(block->widths) + 8);
	if (!at)
		return;
	for (int m = 0; m < BLOCK / MINIBLOCK; m++)
		*at++ = (char)block->widths[m];
	for (size_t m = 0; m * MINIBLOCK < count; m++)
		at = pack_miniblock(at, block->deltas + m * MINIBLOCK, block->widths[m]);
	to->used += (size_t)(at - start);
}

void encode_delta(struct text *to, const int64_t *values, size_t n)
{
	struct block block;

	thrift_put_varint(to, BLOCK);
	thrift_put_varint(to, BLOCK / MINIBLOCK);
	thrift_put_varint(to, n);
	thrift_put_varint(to, thrift_zigzag(n ? values[0] : 0));
	for (size_t at = 1; at < n; at += BLOCK) {
		size_t count = n - at < BLOCK ? n - at : BLOCK;

		fill_block(&block, values + at - 1, count);
		put_block(to, &block, count);
	}
}

size_t encode_delta_size(const int64_t *values, size_t n)
{
	size_t size = 0, step = n / SAMPLES > BLOCK ? n / SAMPLES : BLOCK;
	struct block block;

	for (size_t at = 1; at < n; at += step) {
		size_t count = n - at < BLOCK ? n - at : BLOCK;

		fill_block(&block, values + at - 1, count);
		size += 1 + BLOCK / MINIBLOCK;
		for (size_t m = 0; m * MINIBLOCK < count; m++)
			size += block.widths[m] * MINIBLOCK / 8;
	}
	return size * step / BLOCK;
}

static size_t count_common(const char *a, size_t na, const char *b, size_t nb)
{
	size_t n = 0;

	while (n < na && n < nb && a[n] == b[n])
		n++;
	return n;
}

/*
 * The last event of a thread, and its name at the beginning of @text. The names of the @span events
 * from @from on have the same length, and differ in the last digits only.
 */
struct spelled_event {
	int64_t thread;
	uint64_t from, span; /* 0: there is none */
	unsigned int first;  /* the last digits of @from, as a number */
	size_t length;
	char text[COMPUTED_EVENT_TEXT + COPIED];
};

struct event_speller {
	struct spelled_event known[KNOWN], *last;
};

/* The length that two names have in common. */
static size_t count_common_names(const struct spelled_event *a, const struct spelled_event *b)
{
	size_t most = a->length < b->length ? a->length : b->length, n = 0;
	uint64_t one, other;

	for (; n < most; n += sizeof(one)) {
		memcpy(&one, a->text + n, sizeof(one));
		memcpy(&other, b->text + n, sizeof(other));
		if (one == other)
			continue;
		n += (size_t)__builtin_ctzll(one ^ other) / 8;
		break;
	}
	return n < most ? n : most;
}

/* Find the events whose names differ in the last digits from that of event @n, if there are any. */
static void find_span(struct spelled_event *spelled, uint64_t n)
{
	unsigned int digits = 0, number = 0, unit = 1;
	const char *at = spelled->text + spelled->length;

	for (; digits <= DIGITS && *--at >= '0' && *at <= '9'; digits++, unit *= 10)
		number += digits < DIGITS ? unit * (unsigned int)(*at - '0') : 0;
	spelled->first = digits > DIGITS ? 0 : unit / 10;
	spelled->from = n - (number - spelled->first);
	spelled->span = digits > DIGITS ? unit / 10 : digits == DIGITS ? unit - unit / 10 : 0;
}

static void spell_event(struct spelled_event *spelled, int64_t thread, uint64_t n)
{
	char text[COMPUTED_EVENT_TEXT];
	const char *at = computed_event_text((struct event_id){ (uint32_t)thread, n }, text,
					     &spelled->length);

	memset(spelled->text, 0, sizeof(spelled->text));
	memcpy(spelled->text, at, spelled->length);
	spelled->thread = thread;
	find_span(spelled, n);
}

/* Four digits, the first one in the lowest byte. */
static inline uint32_t make_digits(unsigned int number)
{
	uint32_t high = number / 100, pairs = high | (number - high * 100) << 16;
	uint32_t tens = pairs * 103 >> 10 & 0x000f000f;

	return 0x30303030 | tens | (pairs - tens * 10) << 8;
}

/* Replace the digits that end the name. Returns the length of what has not changed. */
static inline size_t replace_digits(struct spelled_event *spelled, unsigned int number)
{
	char *at = spelled->text + spelled->length - DIGITS;
	uint32_t old, new = make_digits(number);

	memcpy(&old, at, sizeof(old));
	memcpy(at, &new, sizeof(new));
	return old == new ? spelled->length
			  : spelled->length - DIGITS + (size_t)__builtin_ctz(old ^ new) / 8;
}

/* The name of the next event, and the length that it has in common with the last one. */
static inline const struct spelled_event *spell_next(struct event_speller *speller, int64_t thread,
						     uint64_t n, size_t *ret_common)
{
	struct spelled_event *now = &speller->known[(uint64_t)thread % KNOWN],
			     *last = speller->last;
	uint64_t number = n - now->from;
	struct spelled_event before;
	size_t unchanged;

	speller->last = now;
	if (now->thread == thread && number < now->span) {
		unchanged = replace_digits(now, now->first + (unsigned int)number);
		*ret_common = now == last ? unchanged : count_common_names(last, now);
		return now;
	}
	before = *last;
	spell_event(now, thread, n);
	*ret_common = count_common_names(&before, now);
	return now;
}

/* Write the part of each name that differs from the name before, for at most NAMES events. */
static void put_names(struct event_speller *speller, const int64_t *threads, const int64_t *numbers,
		      size_t n, int64_t *common, int64_t *rest, struct text *tails)
{
	char *start = text_space(tails, NAMES * COMPUTED_EVENT_TEXT + COPIED), *to = start;

	for (size_t i = 0; start && i < n; i++) {
		size_t same, length;
		const struct spelled_event *now =
			spell_next(speller, threads[i], (uint64_t)numbers[i], &same);

		length = now->length - same;
		for (size_t at = 0; at < length; at += COPIED)
			memcpy(to + at, now->text + same + at, COPIED);
		to += length;
		common[i] = (int64_t)same;
		rest[i] = (int64_t)length;
	}
	tails->used += (size_t)(to - start);
}

void encode_events(struct text *to, const int64_t *threads, const int64_t *numbers, size_t n)
{
	int64_t *common = malloc(2 * (n + 1) * sizeof(*common)), *rest = common + n + 1;
	struct event_speller speller = { .last = speller.known };
	struct text tails = { 0 };

	if (!common) {
		to->failed = true;
		return;
	}
	for (size_t at = 0; at < n; at += NAMES)
		put_names(&speller, threads + at, numbers + at, n - at < NAMES ? n - at : NAMES,
			  common + at, rest + at, &tails);
	encode_delta(to, common, n);
	encode_delta(to, rest, n);
	text_add(to, tails.at ? tails.at : "", tails.used);
	to->failed |= tails.failed;
	text_fini(&tails);
	free(common);
}

void encode_texts(struct text *to, const char *bytes, const uint64_t *ends, const int64_t *which,
		  size_t n)
{
	int64_t *common = malloc(2 * (n + 1) * sizeof(*common)), *rest = common + n + 1;
	size_t length = 0;
	const char *last = bytes;
	struct text tails = { 0 };

	if (!common) {
		to->failed = true;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t from = which[i] ? ends[which[i] - 1] : 0;
		size_t now = ends[which[i]] - from;
		size_t same = count_common(last, length, bytes + from, now);

		common[i] = (int64_t)same;
		rest[i] = (int64_t)(now - same);
		text_add(&tails, bytes + from + same, now - same);
		last = bytes + from;
		length = now;
	}
	encode_delta(to, common, n);
	encode_delta(to, rest, n);
	text_add(to, tails.at ? tails.at : "", tails.used);
	to->failed |= tails.failed;
	text_fini(&tails);
	free(common);
}
