/* Compressing bytes into one zstd frame */
#include "core/store/chunk/frame.h"

#include <errno.h>
#include <zstd.h>

#include "core/base/text.h"
#include "core/base/vec.h"

int frame_add(struct zstd_frame *frame, const void *bytes, size_t n, int level, struct text *to)
{
	size_t bound = ZSTD_compressBound(n), used;

	if (!frame->context)
		frame->context = ZSTD_createCCtx();
	if (!frame->context || vec_reserve(to->at, to->size, to->used + bound + 1))
		return -ENOMEM;
	used = ZSTD_compressCCtx(frame->context, to->at + to->used, bound, bytes, n, level);
	if (ZSTD_isError(used))
		return -ENOMEM; /* cannot be a lack of space: the bound is reserved */
	to->used += used;
	to->at[to->used] = '\0';
	return 0;
}
