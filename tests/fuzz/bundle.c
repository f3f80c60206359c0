/*
 * A bundle, altered: its bytes, the words of its manifest, its tar's headers
 *
 * It is unpacked, taken as blocks of 512 bytes, changed and packed again, with correct checksums of
 * the headers, so that it is refused because of its contents.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "tests/fuzz/mutate.h"

enum { BLOCK = 512, PLAIN_MAX = 16 << 20, GROWN = 1 << 20 };
enum { SIZE = 124, SIZE_END = 136, SUM = 148, SUM_END = 156, TYPE = 156, MAGIC = 257 };

static size_t unpack_bundle(const uint8_t *packed, size_t n, uint8_t *plain)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = { packed, n, 0 };
	ZSTD_outBuffer out = { plain, PLAIN_MAX, 0 };
	size_t more = 1;

	while (more && in.pos < in.size && out.pos < out.size) {
		more = ZSTD_decompressStream(stream, &out, &in);
		if (ZSTD_isError(more))
			break;
	}
	ZSTD_freeDStream(stream);
	return out.pos;
}

static void sum_header(uint8_t *header)
{
	unsigned int sum = 0;

	memset(header + SUM, ' ', SUM_END - SUM);
	for (int i = 0; i < BLOCK; i++)
		sum += header[i];
	snprintf((char *)header + SUM, 8, "%06o", sum);
}

/* The headers are where the magic word is. */
static uint32_t find_headers(const uint8_t *plain, size_t n, size_t at[64])
{
	uint32_t found = 0;

	for (size_t i = 0; i + BLOCK <= n && found < 64; i += BLOCK)
		if (!memcmp(plain + i + MAGIC, "ustar", 5))
			at[found++] = i;
	return found;
}

/* A length in octal, or in base 256. */
static void put_size(uint8_t *header, uint64_t size, struct dice *dice)
{
	if (dice_roll(dice, 2)) {
		snprintf((char *)header + SIZE, SIZE_END - SIZE, "%011llo",
			 (unsigned long long)(size & 077777777777));
		return;
	}
	memset(header + SIZE, 0, SIZE_END - SIZE);
	header[SIZE] = 0x80;
	for (int i = 0; i < 8; i++)
		header[SIZE_END - 1 - i] = (uint8_t)(size >> 8 * i);
}

static void change_header(uint8_t *header, struct dice *dice)
{
	static const char types[] = "0123456789xgLKSDMNVX\0A";
	const char *text;
	size_t n;

	switch (dice_roll(dice, 4)) {
	case 0:
		put_size(header, dice_number(dice), dice);
		break;
	case 1:
		header[TYPE] = (uint8_t)types[dice_roll(dice, sizeof(types))];
		break;
	case 2:
		text = dice_text(dice, &n);
		memcpy(header, text, n < 100 ? n : 100);
		break;
	default: /* also those of a sparse file of old GNU tar, from byte 386 on */
		dice_spoil(dice, header, BLOCK);
	}
	sum_header(header);
}

/* Insert before @at an entry that declares the next one sparse. */
static size_t add_holes(uint8_t *plain, size_t n, size_t at, struct dice *dice)
{
	char text[BLOCK] = "", line[BLOCK];
	unsigned long long size = dice_number(dice), last = dice_number(dice) & 0xffff;
	int used = 0;

	snprintf(line, sizeof(line), "GNU.sparse.map=%llu,%llu", size - last, last);
	used += snprintf(text, sizeof(text), "%zu %s\n", strlen(line) + 4, line);
	snprintf(line, sizeof(line), "GNU.sparse.size=%llu", size);
	used += snprintf(text + used, sizeof(text) - (size_t)used, "%zu %s\n", strlen(line) + 4,
			 line);
	memmove(plain + at + 2 * BLOCK, plain + at, n - at);
	memcpy(plain + at, plain + at + 2 * BLOCK, BLOCK);
	memcpy(plain + at + BLOCK, text, BLOCK);
	plain[at + TYPE] = 'x';
	snprintf((char *)plain + at + SIZE, SIZE_END - SIZE, "%011o", (unsigned int)used);
	sum_header(plain + at);
	return n + 2 * BLOCK;
}

/* The manifest, which is the first entry: its words, and its length. */
static size_t change_manifest(const char *dir, uint8_t *plain, size_t n, size_t at,
			      struct dice *dice)
{
	const char *path = mutate_path(dir, "text");
	size_t old = strtoul((char *)plain + at + SIZE, NULL, 8), size, room;
	uint8_t *text;

	old = old < n - at - BLOCK ? old : n - at - BLOCK;
	mutate_write(path, plain + at + BLOCK, old);
	mutate_text(dir, dice);
	if (mutate_read(path, &text, &size))
		return n;
	unlink(path);
	size = size < GROWN / 2 ? size : GROWN / 2;
	old = (old + BLOCK - 1) / BLOCK * BLOCK;
	room = (size + BLOCK - 1) / BLOCK * BLOCK;
	memmove(plain + at + BLOCK + room, plain + at + BLOCK + old, n - at - BLOCK - old);
	memset(plain + at + BLOCK, 0, room);
	memcpy(plain + at + BLOCK, text, size);
	snprintf((char *)plain + at + SIZE, SIZE_END - SIZE, "%011o", (unsigned int)size);
	sum_header(plain + at);
	free(text);
	return n - old + room;
}

static size_t change_tar(const char *dir, uint8_t *plain, size_t n, struct dice *dice)
{
	size_t headers[64];
	uint32_t found = find_headers(plain, n, headers), which = dice_roll(dice, found);

	if (!found || !dice_roll(dice, 6)) {
		dice_spoil(dice, plain, n);
		return n;
	}
	switch (dice_roll(dice, 4)) {
	case 0:
		return add_holes(plain, n, headers[which], dice);
	case 1:
		return change_manifest(dir, plain, n, headers[0], dice);
	case 2: /* truncated */
		return headers[which] + dice_roll(dice, BLOCK);
	default:
		change_header(plain + headers[which], dice);
		return n;
	}
}

static void pack_bundle(const char *path, const uint8_t *plain, size_t n)
{
	size_t room = ZSTD_compressBound(n);
	void *packed = malloc(room);
	size_t size = ZSTD_compress(packed, room, plain, n, 1);

	if (!ZSTD_isError(size))
		mutate_write(path, packed, size);
	free(packed);
}

void mutate_bundle(const char *dir, struct dice *dice)
{
	const char *path = mutate_path(dir, "t.bundle");
	uint8_t *packed, *plain;
	size_t n, size;
	char name[512];

	snprintf(name, sizeof(name), "%s", path);
	if (mutate_read(name, &packed, &n))
		return;
	if (!dice_roll(dice, 5)) {
		dice_spoil(dice, packed, n);
		mutate_write(name, packed, dice_roll(dice, 4) ? n : dice_roll(dice, (uint32_t)n));
		free(packed);
		return;
	}
	plain = calloc(1, PLAIN_MAX + 4 * GROWN);
	size = unpack_bundle(packed, n, plain);
	for (uint32_t times = 1 + dice_roll(dice, 2); times; times--)
		size = change_tar(dir, plain, size, dice);
	pack_bundle(name, plain, size);
	free(packed);
	free(plain);
}
