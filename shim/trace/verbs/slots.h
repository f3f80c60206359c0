#pragma once
/*
 * Functions of ours for functions of providers.
 *
 * A pointer in an object of libibverbs is replaced by a function of ours that
 * knows what stood there: one is made for each distinct original, SLOTS of
 * them, so that no call looks anything up. Called under recording_lock().
 */
#include <errno.h>
#include <stddef.h>

enum { SLOTS = 8 };

#define EACH_SLOT(_) _(0) _(1) _(2) _(3) _(4) _(5) _(6) _(7)

/* For tables of ours: SLOT_NAMES(f) is f_0, f_1, ... */
#define SLOT_NAMES(f)                                                  \
	{                                                              \
		f##_0, f##_1, f##_2, f##_3, f##_4, f##_5, f##_6, f##_7 \
	}

/*
 * Which of @ours is to stand for @at; -ENOENT: nothing is to be done, it is
 * NULL or ours already; -ENOSPC: all are taken by others.
 */
static inline int slots_find(void *const originals[SLOTS], void *const ours[SLOTS], const void *at)
{
	for (int i = 0; i < SLOTS; i++)
		if (!at || at == ours[i])
			return -ENOENT;
	for (int i = 0; i < SLOTS; i++)
		if (!originals[i] || originals[i] == at)
			return i;
	return -ENOSPC;
}
