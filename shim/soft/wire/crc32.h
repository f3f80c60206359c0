#pragma once
/*
 * CRC-32 of IEEE 802.3, bits reversed, without the inversions at both ends.
 */
#include <stddef.h>
#include <stdint.h>

/* Continue @crc with the @len bytes at @data. Returns the new CRC. */
uint32_t crc32_add(uint32_t crc, const void *data, size_t len);

/*
 * The state that @len zero bytes change to @crc. Since a CRC is linear, this also computes the
 * difference of two CRCs before their last @len bytes, if these bytes are equal.
 */
uint32_t crc32_back(uint32_t crc, size_t len);
