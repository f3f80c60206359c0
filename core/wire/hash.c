/*
 * XXH64: the one door to xxHash
 *
 * The functions of xxHash are compiled into this file. The guest must not load a library into the
 * traced program, nor call one that the program has loaded, whose version may differ.
 */
#include "core/wire/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(sizeof(struct hash) == sizeof(XXH64_state_t) &&
		       _Alignof(struct hash) >= _Alignof(XXH64_state_t),
	       "struct hash has room for the state");

static XXH64_state_t *state_of(struct hash *hash)
{
	return (XXH64_state_t *)hash->state;
}

void hash_begin(struct hash *hash, uint64_t seed)
{
	XXH64_reset(state_of(hash), seed);
}

void hash_add(struct hash *hash, const void *bytes, size_t n)
{
	XXH64_update(state_of(hash), bytes, n);
}

uint64_t hash_end(const struct hash *hash)
{
	return XXH64_digest((const XXH64_state_t *)hash->state);
}

uint64_t hash_of(const void *bytes, size_t n, uint64_t seed)
{
	return XXH64(bytes, n, seed);
}
