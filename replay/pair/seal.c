/*
 * Seals on messages: the one door to libnettle
 */
#include "replay/pair/seal.h"

#include <errno.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct seal {
	struct hmac_sha256_ctx hmac;
};

struct seal *seal_new(const void *key, size_t length)
{
	struct seal *seal = malloc(sizeof(*seal));

	if (seal)
		hmac_sha256_set_key(&seal->hmac, length, key);
	return seal;
}

void seal_free(struct seal *seal)
{
	if (seal)
		explicit_bzero(seal, sizeof(*seal));
	free(seal);
}

void seal_add(struct seal *seal, const void *bytes, size_t length)
{
	hmac_sha256_update(&seal->hmac, length, bytes);
}

void seal_end(struct seal *seal, uint8_t ret_seal[SEAL])
{
	hmac_sha256_digest(&seal->hmac, SEAL, ret_seal);
}

bool seal_is_same(const uint8_t a[SEAL], const uint8_t b[SEAL])
{
	return memeql_sec(a, b, SEAL);
}

int seal_random(void *bytes, size_t length)
{
	ssize_t n;

	do
		n = getrandom(bytes, length, 0);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (size_t)n == length ? 0 : -EIO;
}
