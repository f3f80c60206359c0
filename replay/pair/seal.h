#pragma once
/*
 * Seals on messages: HMAC-SHA256 (RFC 2104), by libnettle.
 *
 * A struct seal is used by one thread at a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEAL = 32 }; /* bytes of a seal, and of the keys that are made here */

struct seal;

/* NULL without memory. */
struct seal *seal_new(const void *key, size_t length);

/* Accepts NULL. The key is wiped. */
void seal_free(struct seal *seal);

/* One after the other, then the seal of all of it; after that it begins anew. */
void seal_add(struct seal *seal, const void *bytes, size_t length);
void seal_end(struct seal *seal, uint8_t ret_seal[SEAL]);

/* In a time that does not depend on where they differ. */
bool seal_is_same(const uint8_t a[SEAL], const uint8_t b[SEAL]);

/* Bytes that nobody can foresee: 0 or -errno. */
int seal_random(void *bytes, size_t length);
