/*
 * SHA-256 by GnuTLS
 */
#include "cli/bundle/digest.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/wire/log.h"

enum { SHA256_SIZE = (DIGEST_TEXT - 1) / 2 };

struct digest {
	gnutls_hash_hd_t hash;
};

struct digest *digest_new(void)
{
	struct digest *digest = malloc(sizeof(*digest));

	if (digest && !gnutls_hash_init(&digest->hash, GNUTLS_DIG_SHA256))
		return digest;
	free(digest);
	return NULL;
}

void digest_add(struct digest *digest, const void *bytes, size_t n)
{
	gnutls_hash(digest->hash, bytes, n);
}

void digest_end(struct digest *digest, char *ret_text)
{
	uint8_t bytes[SHA256_SIZE];

	if (!digest)
		return;
	gnutls_hash_deinit(digest->hash, bytes);
	for (size_t i = 0; ret_text && i < sizeof(bytes); i++)
		snprintf(ret_text + 2 * i, 3, "%02x", bytes[i]);
	free(digest);
}

int digest_file(const char *path, char ret_text[DIGEST_TEXT], long long *ret_bytes)
{
	FILE *file = fopen(path, "rbe");
	struct digest *digest = digest_new();
	char bytes[1 << 16];
	int err = 0;
	size_t n;

	*ret_bytes = 0;
	if (!file || !digest)
		err = log_err(file ? -ENOMEM : -errno, "read %s", path);
	while (!err && (n = fread(bytes, 1, sizeof(bytes), file)) > 0) {
		digest_add(digest, bytes, n);
		*ret_bytes += (long long)n;
	}
	if (!err && ferror(file))
		err = log_err(-EIO, "read %s", path);
	if (file)
		fclose(file);
	digest_end(digest, err ? NULL : ret_text);
	return err;
}
