/*
 * Packing rows of payload into chunks, and unpacking them
 *
 *	version         1 byte
 *	rows            varint
 *	code            varint: 1 raw, 2 zstd
 *	bytes           varint, of what follows before compression
 *	then, raw or as one frame of zstd:
 *		for each row:
 *			n, time         varints zigzag_encode(difference to the row before)
 *			i               varint
 *			kind, why       1 byte each; bit 7 of kind: a hash follows
 *			before          1 byte
 *			hash            8 bytes, if there is one
 *			total, bytes    varints
 *		the bytes of all rows
 *
 * Not here: joining pieces (payloads.c), the table (payload_table.c).
 */
#include "core/store/chunk/payload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/base/vec.h"
#include "core/store/chunk/column.h"

enum { VERSION = 1, RAW = 1, ZSTD = 2, LEVEL = 1, HASHED = 0x80, ROW_MAX = 80, HEAD_MAX = 32 };

enum { UNPACKED_MAX = PAYLOAD_BYTES_MAX + PAYLOAD_ROWS_MAX * ROW_MAX };

int payload_rows_add(struct payload_rows *rows, const struct payload_row *row, const void *bytes)
{
	struct payload_row *to;

	if (vec_reserve(rows->rows, rows->rows_size, rows->nrows + 1) ||
	    vec_reserve(rows->bytes, rows->size, rows->used + row->bytes))
		return -ENOMEM;
	to = &rows->rows[rows->nrows++];
	*to = *row;
	to->at = rows->used;
	if (row->bytes)
		memcpy(rows->bytes + rows->used, bytes, row->bytes);
	rows->used += row->bytes;
	return 0;
}

void payload_rows_clear(struct payload_rows *rows)
{
	rows->nrows = 0;
	rows->used = 0;
}

void payload_rows_fini(struct payload_rows *rows)
{
	free(rows->rows);
	free(rows->bytes);
	*rows = (struct payload_rows){ 0 };
}

static size_t put_row(uint8_t *to, const struct payload_row *row, const struct payload_row *before)
{
	size_t n = varint_put(to, zigzag_encode(row->n - before->n));

	n += varint_put(to + n, zigzag_encode((uint64_t)row->time - (uint64_t)before->time));
	n += varint_put(to + n, row->i);
	to[n++] = row->kind | (row->hashed ? HASHED : 0);
	to[n++] = row->why;
	to[n++] = row->before;
	if (row->hashed) {
		memcpy(to + n, &row->hash, 8);
		n += 8;
	}
	n += varint_put(to + n, row->total);
	return n + varint_put(to + n, row->bytes);
}

static uint8_t *put_rows(const struct payload_rows *rows, size_t *ret_size)
{
	uint8_t *all = malloc(rows->nrows * ROW_MAX + rows->used + 1);
	struct payload_row before = { 0 };
	size_t n = 0;

	for (size_t i = 0; all && i < rows->nrows; i++) {
		n += put_row(all + n, &rows->rows[i], &before);
		before = rows->rows[i];
	}
	for (size_t i = 0; all && i < rows->nrows; n += rows->rows[i++].bytes)
		if (rows->rows[i].bytes)
			memcpy(all + n, rows->bytes + rows->rows[i].at, rows->rows[i].bytes);
	*ret_size = n;
	return all;
}

int payload_pack(const struct payload_rows *rows, uint8_t **ret_data, size_t *ret_size)
{
	size_t size, n = 1, packed;
	uint8_t *all = put_rows(rows, &size);
	uint8_t *data = malloc(HEAD_MAX + ZSTD_compressBound(size));
	uint8_t *frame;

	if (!all || !data) {
		free(all);
		free(data);
		return -ENOMEM;
	}
	frame = data + HEAD_MAX;
	packed = ZSTD_compress(frame, ZSTD_compressBound(size), all, size, LEVEL);
	data[0] = VERSION;
	n += varint_put(data + n, rows->nrows);
	if (ZSTD_isError(packed) || packed >= size) {
		n += varint_put(data + n, RAW);
		memcpy(frame, all, size);
		packed = size;
	} else {
		n += varint_put(data + n, ZSTD);
	}
	n += varint_put(data + n, size);
	memmove(data + n, frame, packed);
	free(all);
	*ret_data = data;
	*ret_size = n + packed;
	return 0;
}

/* The unread bytes of a chunk. */
struct payload_source {
	const uint8_t *at, *end;
};

static bool get_varint(struct payload_source *s, uint64_t *ret_value)
{
	size_t n = varint_get(s->at, (size_t)(s->end - s->at), ret_value);

	s->at += n;
	return n;
}

static bool get_bytes(struct payload_source *s, void *to, size_t n)
{
	if ((size_t)(s->end - s->at) < n)
		return false;
	memcpy(to, s->at, n);
	s->at += n;
	return true;
}

static bool get_row(struct payload_source *s, struct payload_row *row)
{
	uint64_t n, time, i;

	if (!get_varint(s, &n) || !get_varint(s, &time) || !get_varint(s, &i) ||
	    !get_bytes(s, &row->kind, 1) || !get_bytes(s, &row->why, 1) ||
	    !get_bytes(s, &row->before, 1))
		return false;
	row->n += zigzag_decode(n);
	row->time = (int64_t)((uint64_t)row->time + zigzag_decode(time));
	row->i = (uint32_t)i;
	row->hashed = row->kind & HASHED;
	row->kind &= HASHED - 1;
	row->hash = 0;
	if (row->hashed && !get_bytes(s, &row->hash, 8))
		return false;
	return get_varint(s, &row->total) && get_varint(s, &row->bytes);
}

static int get_rows(struct payload_source *s, uint64_t nrows, struct payload_rows *rows)
{
	struct payload_row row = { 0 };
	size_t at = 0;

	/* a row takes at least 8 bytes */
	if (nrows > (size_t)(s->end - s->at) / 8)
		return -EBADMSG;
	for (uint64_t i = 0; i < nrows; i++) {
		if (!get_row(s, &row) || row.bytes > (size_t)(s->end - s->at))
			return -EBADMSG;
		if (vec_reserve(rows->rows, rows->rows_size, rows->nrows + 1))
			return -ENOMEM;
		row.at = at;
		at += row.bytes;
		rows->rows[rows->nrows++] = row;
	}
	if ((size_t)(s->end - s->at) != at)
		return -EBADMSG;
	if (vec_reserve(rows->bytes, rows->size, at))
		return -ENOMEM;
	if (at)
		memcpy(rows->bytes, s->at, at);
	rows->used = at;
	return 0;
}

int payload_unpack(const void *data, size_t size, struct payload_rows *rows)
{
	struct payload_source s = { data, (const uint8_t *)data + size };
	uint64_t nrows, code, bytes;
	uint8_t version, *all;
	int err = -EBADMSG;

	payload_rows_clear(rows);
	if (!get_bytes(&s, &version, 1) || version != VERSION || !get_varint(&s, &nrows) ||
	    !get_varint(&s, &code) || !get_varint(&s, &bytes) || nrows > PAYLOAD_ROWS_MAX ||
	    bytes > UNPACKED_MAX)
		return -EBADMSG;
	if (code == RAW)
		return bytes == (size_t)(s.end - s.at) ? get_rows(&s, nrows, rows) : -EBADMSG;
	if (code != ZSTD || ZSTD_getFrameContentSize(s.at, (size_t)(s.end - s.at)) != bytes)
		return -EBADMSG;
	all = malloc(bytes + 1);
	if (!all)
		return -ENOMEM;
	if (ZSTD_decompress(all, bytes, s.at, (size_t)(s.end - s.at)) == bytes) {
		s = (struct payload_source){ all, all + bytes };
		err = get_rows(&s, nrows, rows);
	}
	free(all);
	if (err)
		payload_rows_clear(rows);
	return err;
}
