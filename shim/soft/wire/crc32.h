#pragma once
/*
 * CRC-32 of IEEE 802.3, bits reversed, without the inversions at both ends.
 */
#include <stddef.h>
#include <stdint.h>

/* Continue @crc with @len bytes. */
uint32_t crc32_add(uint32_t crc, const void *data, size_t len);

/*
 * The state from which @len bytes of zero lead to @crc. As a CRC is linear, this also takes the
 * difference of two CRCs back to before the last @len bytes, if these are the same in both.
 */
uint32_t crc32_back(uint32_t crc, size_t len);
