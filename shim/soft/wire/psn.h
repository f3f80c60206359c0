#pragma once
/*
 * Packet sequence numbers: 24 bits, which wrap. The later of two numbers is less than half the
 * range ahead of the other one (InfiniBand specification, 9.7.3).
 */
#include <stdbool.h>
#include <stdint.h>

#define PSN_MASK 0xffffffu

static inline uint32_t psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & PSN_MASK;
}

/* How far @a is ahead of @b; negative: behind it. */
static inline int32_t psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline bool psn_is_before(uint32_t a, uint32_t b)
{
	return psn_diff(a, b) < 0;
}
