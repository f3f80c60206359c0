#pragma once
/*
 * Replacements for functions of providers.
 *
 * A pointer in an object of libibverbs is replaced by a function that knows the original: there are
 * SLOTS copies of it, one for each distinct original, so that no call needs a look-up:
 *
 *	ops.post_send -> post_send_0 -> post_send(..., originals[0])
 *
 * Callers hold recording_lock(). A slot is never changed after its first use, since another thread
 * may be reading it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "shim/trace/base/undo.h"

/* MORE_SLOTS: for functions of which providers have more variants */
enum { SLOTS = 8, MORE_SLOTS = 32, SLOT_BYTES_MAX = 32 };

/* clang-format off */
#define EACH_SLOT(_) _(0) _(1) _(2) _(3) _(4) _(5) _(6) _(7)
#define EACH_MORE_SLOT(_)                                                               \
	_(0) _(1) _(2) _(3) _(4) _(5) _(6) _(7) _(8) _(9) _(10) _(11) _(12) _(13) _(14) \
	_(15) _(16) _(17) _(18) _(19) _(20) _(21) _(22) _(23) _(24) _(25) _(26) _(27)   \
	_(28) _(29) _(30) _(31)
/* clang-format on */

/* For tables of replacements: SLOT_NAMES(f) is { f_0, f_1, ... }. */
#define SLOT_NAMES(f)                                                  \
	{                                                              \
		f##_0, f##_1, f##_2, f##_3, f##_4, f##_5, f##_6, f##_7 \
	}

/*
 * The index of the slot with @key, or of a free one, among @n of @bytes; -ENOSPC: all are in use.
 */
static inline int slots_find(const void *originals, int n, const void *key, size_t bytes)
{
	static const char none[SLOT_BYTES_MAX];

	for (int i = 0; i < n; i++) {
		const char *original = (const char *)originals + (size_t)i * bytes;

		if (!memcmp(original, none, bytes) || !memcmp(original, key, bytes))
			return i;
	}
	return -ENOSPC;
}

/* Is the function at @at a replacement? */
static inline bool slots_has(void *const *ours, int n, const void *at)
{
	for (int i = 0; i < n; i++)
		if (ours[i] == at)
			return true;
	return false;
}

/*
 * The index of the function in @ours that replaces @at; -ENOENT: @at is NULL, or a replacement
 * already; -ENOSPC: all are in use for other functions.
 */
static inline int slots_choose(void *const originals[SLOTS], void *const ours[SLOTS],
			       const void *at)
{
	if (!at || slots_has(ours, SLOTS, at))
		return -ENOENT;
	return slots_find(originals, SLOTS, &at, sizeof(at));
}

/* Replace *@pointer by the function of slot @i, as returned by slots_choose(). */
static inline void slots_put(void **pointer, void *originals[SLOTS], void *const ours[SLOTS], int i)
{
	if (!originals[i])
		originals[i] = *pointer;
	undo_note(pointer);
	*pointer = ours[i];
}

/* Replace *@pointer by one of @ours. Returns 0; -ENOSPC: it is unchanged. */
static inline int slots_patch(void **pointer, void *originals[SLOTS], void *const ours[SLOTS])
{
	int i = slots_choose(originals, ours, *pointer);

	if (i >= 0)
		slots_put(pointer, originals, ours, i);
	return i == -ENOSPC ? -ENOSPC : 0;
}
