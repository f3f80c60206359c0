/*
 * Reading shapes, columns and blocks: shapes.c has the format
 */
#include "core/store/chunk/shapes_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/base/vec.h"
#include "core/store/chunk/column.h"

uint64_t shapes_get_varint(struct shapes_in *in, uint64_t most)
{
	uint64_t n = 0;
	size_t used = varint_get(in->at, (size_t)(in->end - in->at), &n);

	in->at += used;
	in->bad |= !used || n > most;
	return in->bad ? 0 : n;
}

const char *shapes_get_bytes(struct shapes_in *in, size_t n)
{
	const char *at = (const char *)in->at;

	if (in->bad || n > (size_t)(in->end - in->at)) {
		in->bad = true;
		return NULL;
	}
	in->at += n;
	return at;
}

struct shapes_text shapes_get_text(struct shapes_in *in)
{
	size_t length = shapes_get_varint(in, SHAPES_BYTES_MAX);
	const char *at = shapes_get_bytes(in, length);

	return (struct shapes_text){ at, at ? length : 0 };
}

const char *shapes_get_word(struct shapes_in *in)
{
	const char *at = (const char *)in->at;
	const uint8_t *end = in->bad ? NULL : memchr(in->at, 0, (size_t)(in->end - in->at));

	if (!end) {
		in->bad = true;
		return "";
	}
	in->at = end + 1;
	return at;
}

int shapes_get_column(struct shapes_in *in, uint64_t *values, uint32_t count)
{
	struct column_view view = { .code = COLUMN_RAW, .count = count };
	const char *code = shapes_get_bytes(in, 1);

	if (!code || *code > COLUMN_RAW)
		return -EBADMSG;
	if (*code == COLUMN_RAW) {
		view.unpacked = (uint32_t)shapes_get_varint(in, UINT32_MAX);
		view.bytes = (const uint8_t *)shapes_get_bytes(in, view.unpacked);
		return in->bad ? -EBADMSG : column_read(&view, NULL, NULL, values);
	}
	view.base = zigzag_decode(shapes_get_varint(in, UINT64_MAX));
	view.step = zigzag_decode(shapes_get_varint(in, UINT64_MAX));
	for (uint32_t i = 0; i < count; i++, view.base += view.step)
		values[i] = view.base;
	return in->bad ? -EBADMSG : 0;
}

/* Decompress the frame; one more byte, NUL, terminates any text within. */
static int unpack_frame(struct shapes_plain *plain, struct shapes_in *in, size_t bytes)
{
	size_t left = (size_t)(in->end - in->at), n;

	if (ZSTD_getFrameContentSize(in->at, left) != bytes)
		return -EBADMSG;
	if (!plain->context)
		plain->context = ZSTD_createDCtx();
	if (!plain->context || vec_reserve(plain->bytes, plain->size, bytes + 1))
		return -ENOMEM;
	n = ZSTD_decompressDCtx(plain->context, plain->bytes, bytes, in->at, left);
	if (ZSTD_isError(n) || n != bytes)
		return -EBADMSG;
	plain->bytes[bytes] = '\0';
	*in = (struct shapes_in){ (const uint8_t *)plain->bytes,
				  (const uint8_t *)plain->bytes + bytes, false };
	return 0;
}

int shapes_open(struct shapes_plain *plain, const void *data, size_t size, uint64_t version,
		uint32_t most, uint32_t *ret_rows, struct shapes_in *ret_in)
{
	struct shapes_in in = { data, (const uint8_t *)data + size, !size };
	bool known = shapes_get_varint(&in, version) == version;
	size_t bytes;
	int err;

	*ret_rows = (uint32_t)shapes_get_varint(&in, most);
	bytes = shapes_get_varint(&in, SHAPES_BYTES_MAX);
	err = in.bad || !known ? -EBADMSG : unpack_frame(plain, &in, bytes);
	*ret_in = in;
	return err;
}

void shapes_plain_fini(struct shapes_plain *plain)
{
	ZSTD_freeDCtx(plain->context);
	free(plain->bytes);
	*plain = (struct shapes_plain){ 0 };
}
