#pragma once
/*
 * Bytes as one zstd frame, for files other than traces. Not thread-safe.
 */
#include <stddef.h>

struct text;

/* All zero at first; never freed, for a program has one. */
struct zstd_frame {
	void *context;
};

/* Append the frame of the @n bytes, by zstd's @level, to @to. 0 or -ENOMEM. */
int frame_add(struct zstd_frame *frame, const void *bytes, size_t n, int level, struct text *to);
