#pragma once
/*
 * SHA-256 (FIPS 180-4) by GnuTLS, as hex text. Not thread-safe.
 */
#include <stddef.h>

enum { DIGEST_TEXT = 65 };

struct digest;

/* 0 or -errno after log_err(). */
int digest_new(struct digest **ret_digest);
void digest_add(struct digest *digest, const void *bytes, size_t n);

/* Store the text in @ret_text, unless that is NULL, and free @digest. */
void digest_end(struct digest *digest, char *ret_text);

/* The digest and length of the file at @path. 0 or -errno after log_err(). */
int digest_file(const char *path, char ret_text[DIGEST_TEXT], long long *ret_bytes);
