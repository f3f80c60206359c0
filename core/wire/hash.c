/*
 * XXH64: doc/xxhash_spec.md of Cyan4973/xxHash, version 0.1.1
 *
 *	32 bytes at a time into four lanes of 8, each multiplied and rotated;
 *	then the lanes are joined, the rest is taken in by 8, 4 and 1 bytes, and
 *	the result is mixed once more
 *
 * Words are read in the machine's byte order. The specification has little-endian,
 * as all machines that we run on are.
 */
#include "core/wire/hash.h"

#include <string.h>

#define P1 0x9e3779b185ebca87ull
#define P2 0xc2b2ae3d27d4eb4full
#define P3 0x165667b19e3779f9ull
#define P4 0x85ebca77c2b2ae63ull
#define P5 0x27d4eb2f165667c5ull

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are read as they are");

static inline uint64_t rotate_left(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static inline uint64_t load_word(const uint8_t *at)
{
	uint64_t x;

	memcpy(&x, at, sizeof(x));
	return x;
}

static inline uint64_t run_round(uint64_t lane, uint64_t input)
{
	return rotate_left(lane + input * P2, 31) * P1;
}

static inline uint64_t join_lane(uint64_t sum, uint64_t lane)
{
	return (sum ^ run_round(0, lane)) * P1 + P4;
}

static void take_block(struct hash *hash, const uint8_t *at)
{
	for (int i = 0; i < 4; i++)
		hash->lanes[i] = run_round(hash->lanes[i], load_word(at + 8 * i));
}

void hash_begin(struct hash *hash, uint64_t seed)
{
	*hash = (struct hash){ .lanes = { seed + P1 + P2, seed + P2, seed, seed - P1 } };
}

void hash_add(struct hash *hash, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;
	size_t waiting = hash->total % 32;

	hash->total += n;
	if (waiting) {
		size_t more = n < 32 - waiting ? n : 32 - waiting;

		memcpy(hash->rest + waiting, at, more);
		at += more;
		n -= more;
		if (waiting + more < 32)
			return;
		take_block(hash, hash->rest);
	}
	for (; n >= 32; at += 32, n -= 32)
		take_block(hash, at);
	if (n)
		memcpy(hash->rest, at, n);
}

static uint64_t take_rest(uint64_t sum, const uint8_t *at, size_t n)
{
	uint32_t half;

	for (; n >= 8; at += 8, n -= 8)
		sum = rotate_left(sum ^ run_round(0, load_word(at)), 27) * P1 + P4;
	if (n >= 4) {
		memcpy(&half, at, sizeof(half));
		sum = rotate_left(sum ^ half * P1, 23) * P2 + P3;
		at += 4;
		n -= 4;
	}
	for (; n; at++, n--)
		sum = rotate_left(sum ^ *at * P5, 11) * P1;
	return sum;
}

uint64_t hash_end(const struct hash *hash)
{
	const uint64_t *l = hash->lanes;
	uint64_t sum = l[2] + P5; /* of less than 32 bytes this lane is still the seed */

	if (hash->total >= 32) {
		sum = rotate_left(l[0], 1) + rotate_left(l[1], 7) + rotate_left(l[2], 12) +
		      rotate_left(l[3], 18);
		for (int i = 0; i < 4; i++)
			sum = join_lane(sum, l[i]);
	}
	sum = take_rest(sum + hash->total, hash->rest, hash->total % 32);
	sum = (sum ^ sum >> 33) * P2;
	sum = (sum ^ sum >> 29) * P3;
	return sum ^ sum >> 32;
}

uint64_t hash_of(const void *bytes, size_t n, uint64_t seed)
{
	struct hash hash;

	hash_begin(&hash, seed);
	hash_add(&hash, bytes, n);
	return hash_end(&hash);
}
