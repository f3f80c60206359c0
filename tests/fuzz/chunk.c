/*
 * A trace's chunks, altered inside: unpacked, changed, packed again
 *
 * The directory of a chunk is parsed (TRACE-FORMAT.md, "Chunks"); one of its columns gets other
 * values, another length or number, or bytes that unpack to far more than a writer makes; and the
 * chunk is packed correctly, so that it is refused because of its contents, not its packing.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/store/chunk/column.h"
#include "tests/fuzz/mutate.h"

enum { COLUMNS = 255, BOMB = 64 << 20, PLAIN_MAX = 1 << 20 };

struct entry {
	uint64_t id, code, count, base, step, packed, unpacked;
	uint8_t *bytes;
};

struct in {
	const uint8_t *at;
	size_t left;
};

struct buffer {
	uint8_t *bytes;
	size_t used, size;
};

/* Like the reader of chunks, but independent of it. */
static uint64_t get_varint(struct in *in)
{
	uint64_t n = 0;

	for (int shift = 0; in->left; shift += 7) {
		uint8_t byte = *in->at++;

		in->left--;
		n |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
		if (!(byte & 0x80))
			break;
	}
	return n;
}

static void put_bytes(struct buffer *out, const void *bytes, size_t n)
{
	if (out->used + n > out->size) {
		out->size = (out->used + n) * 2;
		out->bytes = realloc(out->bytes, out->size);
	}
	memcpy(out->bytes + out->used, bytes, n);
	out->used += n;
}

static void put_varint(struct buffer *out, uint64_t n)
{
	uint8_t bytes[10];

	put_bytes(out, bytes, varint_put(bytes, n));
}

static uint8_t *unpack_zstd(const uint8_t *bytes, size_t n, size_t *unpacked)
{
	uint8_t *plain = malloc(*unpacked ? *unpacked : 1);
	size_t got = *unpacked <= PLAIN_MAX ? ZSTD_decompress(plain, *unpacked, bytes, n) : 0;

	*unpacked = ZSTD_isError(got) ? 0 : got;
	return plain;
}

/* All columns, unpacked. Returns their number; to be freed. */
static unsigned int take_apart(const uint8_t *bytes, size_t n, struct entry entries[COLUMNS])
{
	struct in in = { bytes + 2, n < 2 ? 0 : n - 2 };
	unsigned int columns = n < 2 ? 0 : bytes[1];

	memset(entries, 0, COLUMNS * sizeof(*entries));
	columns = columns > COLUMNS ? COLUMNS : columns;
	for (unsigned int i = 0; i < columns; i++) {
		struct entry *e = &entries[i];

		*e = (struct entry){ .id = get_varint(&in),
				     .code = get_varint(&in),
				     .count = get_varint(&in) };
		if (e->code == COLUMN_LINEAR) {
			e->base = get_varint(&in);
			e->step = get_varint(&in);
			continue;
		}
		e->packed = get_varint(&in);
		e->unpacked = e->code == COLUMN_ZSTD ? get_varint(&in) : e->packed;
	}
	for (unsigned int i = 0; i < columns; i++) {
		struct entry *e = &entries[i];

		if (e->code == COLUMN_LINEAR || e->packed > in.left)
			continue;
		if (e->code == COLUMN_ZSTD) {
			e->bytes = unpack_zstd(in.at, e->packed, &e->unpacked);
		} else {
			e->bytes = malloc(e->packed + 1);
			memcpy(e->bytes, in.at, e->packed);
		}
		in.at += e->packed;
		in.left -= e->packed;
	}
	return columns;
}

/* Encode the column by @code into @out; returns the number of bytes. */
static size_t pack_zstd(const struct entry *e, struct buffer *out)
{
	size_t room = ZSTD_compressBound(e->unpacked), n;
	void *packed;

	if (e->code != COLUMN_ZSTD) {
		put_bytes(out, e->bytes, e->unpacked);
		return e->unpacked;
	}
	packed = malloc(room);
	n = ZSTD_compress(packed, room, e->bytes, e->unpacked, 1);
	put_bytes(out, packed, n);
	free(packed);
	return n;
}

static struct buffer put_together(struct entry *entries, unsigned int columns, uint64_t lie)
{
	struct buffer head = { 0 }, body = { 0 };
	const uint8_t start[] = { 1, (uint8_t)columns };

	put_bytes(&head, start, 2);
	for (unsigned int i = 0; i < columns; i++) {
		struct entry *e = &entries[i];
		size_t n;

		put_varint(&head, e->id);
		put_varint(&head, e->code);
		put_varint(&head, e->count);
		if (e->code == COLUMN_LINEAR || !e->bytes) {
			put_varint(&head, e->base);
			put_varint(&head, e->step);
			continue;
		}
		n = pack_zstd(e, &body);
		put_varint(&head, n);
		if (e->code == COLUMN_ZSTD)
			put_varint(&head, e->unpacked + (lie >> 8 == i ? lie & 0xff : 0));
	}
	put_bytes(&head, body.bytes ? body.bytes : start, body.used);
	free(body.bytes);
	return head;
}

/* Another number in one row. */
static void rewrite_entry(struct entry *e, struct dice *dice)
{
	struct in in = { e->bytes, e->unpacked };
	struct buffer out = { 0 };
	uint64_t value = 0, row = dice_roll(dice, (uint32_t)e->count), other = dice_number(dice);

	for (uint64_t i = 0; i < e->count && i < PLAIN_MAX / 10; i++) {
		uint64_t before = value;

		if (in.left)
			value += zigzag_decode(get_varint(&in));
		put_varint(&out, zigzag_encode((i == row ? other : value) -
					       (i && i - 1 == row ? other : before)));
	}
	free(e->bytes);
	e->bytes = out.bytes;
	e->unpacked = out.used;
}

/* Many rows of one number are packed into very few bytes. */
static void inflate_entry(struct entry *e, struct dice *dice)
{
	uint64_t rows = dice_roll(dice, 2) ? 1 << 24 : 1ul << dice_roll(dice, 25);

	e->count = rows;
	e->code = COLUMN_ZSTD;
	e->unpacked = rows;
	free(e->bytes);
	e->bytes = calloc(rows, 1);
	e->bytes[0] = (uint8_t)dice_roll(dice, 128);
}

static void change_columns(struct entry *entries, unsigned int columns, struct dice *dice)
{
	struct entry *e = &entries[dice_roll(dice, columns)];

	switch (dice_roll(dice, 10)) {
	case 0:
		e->count = dice_number(dice);
		break;
	case 1:
		e->id = dice_number(dice) & 127;
		break;
	case 2: /* a linear column of any length costs nothing */
		e->code = COLUMN_LINEAR;
		e->base = dice_number(dice);
		e->step = dice_roll(dice, 2) ? 0 : dice_number(dice);
		e->count = dice_roll(dice, 2) ? e->count : 1ul << dice_roll(dice, 26);
		break;
	case 3:
		inflate_entry(e, dice);
		break;
	case 4:
		if (e->bytes)
			dice_spoil(dice, e->bytes, e->unpacked);
		break;
	case 5: /* the same for all families: the chunk is consistent, and enormous */
		for (unsigned int i = 0, rows = 1u << dice_roll(dice, 25); i < columns; i++)
			entries[i] = (struct entry){ entries[i].id,
						     COLUMN_LINEAR,
						     rows,
						     1,
						     0,
						     0,
						     0,
						     (free(entries[i].bytes), NULL) };
		break;
	default:
		if (e->bytes)
			rewrite_entry(e, dice);
		else
			e->base = dice_number(dice);
	}
}

static struct buffer change_chunk(const uint8_t *bytes, size_t n, struct dice *dice)
{
	static struct entry entries[COLUMNS];
	unsigned int columns = take_apart(bytes, n, entries);
	struct buffer out = { 0 };

	for (uint32_t times = 1 + dice_roll(dice, 3); columns && times; times--)
		change_columns(entries, columns, dice);
	if (columns && !dice_roll(dice, 8))
		columns--;
	out = put_together(entries, columns,
			   dice_roll(dice, 4) ? UINT64_MAX : dice_roll(dice, 1 << 14));
	for (unsigned int i = 0; i < COLUMNS; i++)
		free(entries[i].bytes);
	return out;
}

/* version, rows, code, bytes before compression; then as one frame */
static struct buffer change_payload(const uint8_t *bytes, size_t n, struct dice *dice)
{
	struct in in = { bytes + 1, n ? n - 1 : 0 };
	struct entry all = { .count = get_varint(&in),
			     .code = get_varint(&in),
			     .unpacked = get_varint(&in) };
	struct buffer out = { 0 };

	if (all.code == COLUMN_ZSTD && all.unpacked <= PLAIN_MAX) {
		all.bytes = unpack_zstd(in.at, in.left, &all.unpacked);
	} else {
		all.unpacked = in.left;
		all.bytes = malloc(in.left + 1);
		memcpy(all.bytes, in.at, in.left);
	}
	all.code = 1 + dice_roll(dice, 2);
	if (!dice_roll(dice, 6)) {
		free(all.bytes);
		all.unpacked = BOMB;
		all.bytes = calloc(1, BOMB);
		all.code = COLUMN_ZSTD;
	}
	if (!dice_roll(dice, 3))
		all.count = dice_number(dice);
	if (dice_roll(dice, 4))
		dice_spoil(dice, all.bytes,
			   all.unpacked > 64 && dice_roll(dice, 2) ? 64 : all.unpacked);
	put_bytes(&out, "\1", 1);
	put_varint(&out, all.count);
	put_varint(&out, all.code);
	put_varint(&out, dice_roll(dice, 8) ? all.unpacked : dice_number(dice));
	pack_zstd(&all, &out);
	free(all.bytes);
	return out;
}

void mutate_chunk(const char *dir, struct dice *dice)
{
	sqlite3 *db = mutate_open(dir);
	const char *table = dice_roll(dice, 4) ? "chunk" : "payload_chunk";
	char *select = sqlite3_mprintf("SELECT id, data FROM %s ORDER BY id LIMIT 1 OFFSET %u",
				       table, dice_roll(dice, 8));
	char *update = sqlite3_mprintf("UPDATE %s SET data = ? WHERE id = ?", table);
	sqlite3_stmt *chunk = NULL, *change = NULL;
	struct buffer data;

	if (db && !sqlite3_prepare_v2(db, select, -1, &chunk, NULL) &&
	    sqlite3_step(chunk) == SQLITE_ROW &&
	    !sqlite3_prepare_v2(db, update, -1, &change, NULL)) {
		const uint8_t *bytes = sqlite3_column_blob(chunk, 1);
		size_t n = (size_t)sqlite3_column_bytes(chunk, 1);

		data = *table == 'c' ? change_chunk(bytes, n, dice)
				     : change_payload(bytes, n, dice);
		sqlite3_bind_blob(change, 1, data.bytes, (int)data.used, SQLITE_TRANSIENT);
		sqlite3_bind_int64(change, 2, sqlite3_column_int64(chunk, 0));
		sqlite3_step(change);
		free(data.bytes);
	}
	sqlite3_finalize(chunk);
	sqlite3_finalize(change);
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(db);
	sqlite3_free(select);
	sqlite3_free(update);
}
