#pragma once
/*
 * Parts of a SARIF log that do not depend on what is reported. Not thread-safe.
 *
 * @root: the current directory, ending with a slash, or "": of sarif_begin(). A source file below
 * it is named relative to it (SRCROOT), as is one with a relative name in the debug information;
 * others have absolute addresses. Code without line information is at an offset of its module.
 */
#include <limits.h>

#include "core/base/json.h"

/* A place in the program; NULL members are not known. */
struct sarif_place {
	const char *function;
	const char *path; /* of the source file */
	int line;
	const char *module;
	uint64_t offset; /* in @module */
};

/* Begin the log, an object that the caller closes. */
void sarif_begin(struct json *json, char root[PATH_MAX]);

/* Define SRCROOT, in a run. */
void sarif_put_root(struct json *json, const char *root);

/* {"text": @text}; NULL is "". */
void sarif_message(struct json *json, const char *name, const char *text);

/* @message may be NULL. */
void sarif_location(struct json *json, const char *root, const char *name,
		    const struct sarif_place *place, const char *message);

void sarif_fingerprint(struct json *json, const char *fingerprint);
