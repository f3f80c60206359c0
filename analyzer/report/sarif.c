/*
 * Parts of a SARIF log: https://docs.oasis-open.org/sarif/sarif/v2.1.0/
 */
#include "analyzer/report/sarif.h"

#include <string.h>
#include <unistd.h>

void sarif_message(struct json *json, const char *name, const char *text)
{
	json_open(json, name, '{');
	json_put_text(json, "text", text ? text : "");
	json_close(json, '}');
}

/* @path as part of a URI (RFC 3986). */
static void put_uri(struct json *json, const char *scheme, const char *path)
{
	static const char plain[] = "-._~/";
	struct text uri = { 0 };

	text_addf(&uri, "%s", scheme);
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		    strchr(plain, c))
			text_char(&uri, (char)c);
		else
			text_addf(&uri, "%%%02X", c);
	}
	if (uri.failed)
		json->out->failed = true;
	else
		json_put_text(json, "uri", uri.at);
	text_fini(&uri);
}

static void put_artifact(struct json *json, const char *root, const char *path)
{
	size_t n = strlen(root);
	bool below = n && !strncmp(path, root, n);

	json_open(json, "artifactLocation", '{');
	if (*path == '/' && !below) {
		put_uri(json, "file://", path);
	} else {
		path += below ? n : 0;
		while (!strncmp(path, "./", 2))
			path += 2;
		put_uri(json, "", path);
		json_put_text(json, "uriBaseId", "SRCROOT");
	}
	json_close(json, '}');
}

/* The place of a finding in the program: a line, or an offset in a module. */
static void put_physical(struct json *json, const char *root, const struct sarif_place *place)
{
	json_open(json, "physicalLocation", '{');
	put_artifact(json, root, place->path ? place->path : place->module);
	if (place->path && place->line > 0) {
		json_open(json, "region", '{');
		json_put_int(json, "startLine", place->line);
		json_close(json, '}');
	}
	if (!place->path) {
		json_open(json, "address", '{');
		json_put_text(json, "kind", "instruction");
		json_put_int(json, "relativeAddress", (int64_t)place->offset);
		json_close(json, '}');
	}
	json_close(json, '}');
}

void sarif_location(struct json *json, const char *root, const char *name,
		    const struct sarif_place *place, const char *message)
{
	json_open(json, name, '{');
	if (place->path || place->module)
		put_physical(json, root, place);
	if (place->function) {
		json_open(json, "logicalLocations", '[');
		json_open(json, NULL, '{');
		json_put_text(json, "fullyQualifiedName", place->function);
		json_put_text(json, "kind", "function");
		json_close(json, '}');
		json_close(json, ']');
	}
	if (message)
		sarif_message(json, "message", message);
	json_close(json, '}');
}

void sarif_fingerprint(struct json *json, const char *fingerprint)
{
	json_open(json, "partialFingerprints", '{');
	json_put_text(json, "verbatim/v1", fingerprint);
	json_close(json, '}');
}

void sarif_begin(struct json *json, char root[PATH_MAX])
{
	if (!getcwd(root, PATH_MAX - 1) || root[0] != '/')
		root[0] = '\0';
	else if (root[1])
		strcat(root, "/");
	json_open(json, NULL, '{');
	json_put_text(json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	json_put_text(json, "version", "2.1.0");
}

void sarif_put_root(struct json *json, const char *root)
{
	json_open(json, "originalUriBaseIds", '{');
	json_open(json, "SRCROOT", '{');
	if (*root)
		put_uri(json, "file://", root);
	sarif_message(json, "description", "the current directory of verbatim");
	json_close(json, '}');
	json_close(json, '}');
}
