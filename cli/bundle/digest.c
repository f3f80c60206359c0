/*
 * SHA-256 by GnuTLS
 */
#include "cli/bundle/digest.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/library.h"
#include "core/wire/log.h"

/* clang-format off */
#define HASH_LIB(X) \
	X(gnutls_hash) \
	X(gnutls_hash_deinit) \
	X(gnutls_hash_init)
/* clang-format on */

static LIBRARY(HASH_LIB) lib;

enum { SHA256_SIZE = (DIGEST_TEXT - 1) / 2 };

struct digest {
	gnutls_hash_hd_t hash;
};

int digest_new(struct digest **ret_digest)
{
	static const char *const names[] = { HASH_LIB(LIBRARY_NAME) NULL };
	const char *why = library_load("libgnutls.so.30", names, lib.functions);
	struct digest *digest;

	if (why) {
		log_note("install GnuTLS, which computes the digests of a bundle: %s", why);
		return -ENOPKG;
	}
	digest = malloc(sizeof(*digest));
	if (!digest || lib.gnutls_hash_init(&digest->hash, GNUTLS_DIG_SHA256)) {
		free(digest);
		return log_err(-ENOMEM, "compute a digest");
	}
	*ret_digest = digest;
	return 0;
}

void digest_add(struct digest *digest, const void *bytes, size_t n)
{
	lib.gnutls_hash(digest->hash, bytes, n);
}

void digest_end(struct digest *digest, char *ret_text)
{
	uint8_t bytes[SHA256_SIZE];

	if (!digest)
		return;
	lib.gnutls_hash_deinit(digest->hash, bytes);
	for (size_t i = 0; ret_text && i < sizeof(bytes); i++)
		snprintf(ret_text + 2 * i, 3, "%02x", bytes[i]);
	free(digest);
}

int digest_file(const char *path, char ret_text[DIGEST_TEXT], long long *ret_bytes)
{
	FILE *file = fopen(path, "rbe");
	struct digest *digest = NULL;
	char bytes[1 << 16];
	int err = file ? digest_new(&digest) : log_err(-errno, "read %s", path);
	size_t n;

	*ret_bytes = 0;
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
