#pragma once
/*
 * The times of the calls of a block, as one column.
 *
 * @common: the CALL_COMMON columns of @calls calls, one after the other. @words: scratch memory,
 * CALL_TIMES_WORDS words for each call.
 */
#include "core/store/chunk/call_row.h"
#include "core/store/chunk/shapes.h"
#include "core/store/chunk/shapes_read.h"

enum { CALL_TIMES_WORDS = 5 };

/* Append the times of @common to the packer. */
void call_times_put(struct shapes_packer *packer, const uint64_t *common, uint32_t calls,
		    uint64_t *words);

/* Read the times into @common, whose other columns are already set. 0 or -EBADMSG. */
int call_times_get(struct shapes_input *in, uint64_t *common, uint32_t calls, uint64_t *words);
