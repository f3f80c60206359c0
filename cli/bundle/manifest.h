#pragma once
/*
 * The contents of a bundle: manifest.json, its first file. Not thread-safe.
 *
 * 	{"format":"verbatim bundle","version":1,"verbatim":"0.1","anonymised":false,
 * 	 "files":[{"name":"trace.db","bytes":4096,"sha256":"..."}]}
 */
#include <stdbool.h>
#include <stddef.h>

#include "cli/bundle/digest.h"
#include "core/base/text.h"

#define MANIFEST_NAME "manifest.json"

enum { MANIFEST_FILES = 16, MANIFEST_BYTES = 1 << 16, MANIFEST_FILE_NAME = 64 };

struct manifest_file {
	char name[MANIFEST_FILE_NAME];
	char digest[DIGEST_TEXT];
	long long bytes;
	const char *what; /* description for the user; not in the file */
	bool seen;        /* unbundle: its entry was seen */
};

struct manifest {
	bool anonymised;
	long long bytes; /* of all files, as read */
	size_t n;
	struct manifest_file files[MANIFEST_FILES];
};

/* Add a file, to be filled in by the caller. */
struct manifest_file *manifest_add(struct manifest *manifest, const char *name, const char *what);

void manifest_write(const struct manifest *manifest, struct text *to);

/* The text is not trusted. Returns NULL, or the reason why it is invalid. */
const char *manifest_read(const char *json, size_t n, struct manifest *ret_manifest);

struct manifest_file *manifest_find(struct manifest *manifest, const char *name);

/* Is @name a file name without a path: letters, digits, "-", "_", and "." except in front? */
bool manifest_is_name(const char *name);
