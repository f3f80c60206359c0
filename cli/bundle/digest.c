/*
 * SHA-256 by libnettle
 */
#include "cli/bundle/digest.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/wire/log.h"

struct digest {
	struct sha256_ctx context;
};

struct digest *digest_new(void)
{
	struct digest *digest = malloc(sizeof(*digest));

	if (digest)
		sha256_init(&digest->context);
	return digest;
}

void digest_add(struct digest *digest, const void *bytes, size_t n)
{
	sha256_update(&digest->context, n, bytes);
}

void digest_end(struct digest *digest, char *ret_text)
{
	uint8_t bytes[SHA256_DIGEST_SIZE];

	if (digest && ret_text) {
		sha256_digest(&digest->context, sizeof(bytes), bytes);
		for (size_t i = 0; i < sizeof(bytes); i++)
			snprintf(ret_text + 2 * i, 3, "%02x", bytes[i]);
	}
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
