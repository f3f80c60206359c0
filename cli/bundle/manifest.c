/* The list of a bundle's files: manifest.json */
#include "cli/bundle/manifest.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/json_tree.h"

static const char format[] = "verbatim bundle";

enum { VERSION = 1 };

struct manifest_file *manifest_add(struct manifest *manifest, const char *name, const char *what)
{
	struct manifest_file *file = &manifest->files[manifest->n];

	assert(manifest->n < MANIFEST_FILES);
	*file = (struct manifest_file){ .what = what };
	snprintf(file->name, sizeof(file->name), "%s", name);
	manifest->n++;
	return file;
}

void manifest_write(const struct manifest *manifest, struct text *to)
{
	struct json json = { .out = to };

	json_open(&json, NULL, '{');
	json_put_text(&json, "format", format);
	json_put_int(&json, "version", VERSION);
	json_put_text(&json, "verbatim", VERBATIM_VERSION);
	json_put_bool(&json, "anonymised", manifest->anonymised);
	json_open(&json, "files", '[');
	for (size_t i = 0; i < manifest->n; i++) {
		const struct manifest_file *file = &manifest->files[i];

		json_open(&json, NULL, '{');
		json_put_text(&json, "name", file->name);
		json_put_int(&json, "bytes", file->bytes);
		json_put_text(&json, "sha256", file->digest);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	text_char(to, '\n');
}

bool manifest_is_name(const char *name)
{
	size_t n = strlen(name);

	if (!n || n >= MANIFEST_FILE_NAME || !isalnum((unsigned char)*name))
		return false;
	for (; *name; name++)
		if (!isascii(*name) || (!isalnum((unsigned char)*name) && !strchr("-_.", *name)))
			return false;
	return true;
}

struct manifest_file *manifest_find(struct manifest *manifest, const char *name)
{
	for (size_t i = 0; i < manifest->n; i++)
		if (!strcmp(manifest->files[i].name, name))
			return &manifest->files[i];
	return NULL;
}

static const struct json_node *find_member(const struct json_node *node, const char *name,
					   enum json_kind kind)
{
	const struct json_node *found = json_find_member(node, name, strlen(name));

	return found && found->kind == kind ? found : NULL;
}

static const char *read_entry(const struct json_node *node, struct manifest *manifest)
{
	const struct json_node *name, *bytes, *digest;
	struct manifest_file *file;

	if (node->kind != JSON_OBJECT)
		return "it lists an entry that is not a file";
	name = find_member(node, "name", JSON_TEXT);
	bytes = find_member(node, "bytes", JSON_INT);
	digest = find_member(node, "sha256", JSON_TEXT);
	if (!name || !bytes || bytes->number < 0 || !digest || digest->length != DIGEST_TEXT - 1)
		return "it lists a file without its name, length or digest";
	if (strlen(name->text) != name->length || !manifest_is_name(name->text) ||
	    !strcmp(name->text, MANIFEST_NAME))
		return "it lists a file with an unexpected name";
	if (manifest_find(manifest, name->text))
		return "it lists a file twice";
	if (manifest->n == MANIFEST_FILES)
		return "it lists too many files";
	if (__builtin_add_overflow(manifest->bytes, bytes->number, &manifest->bytes))
		return "it lists more bytes than possible";
	file = manifest_add(manifest, name->text, NULL);
	file->bytes = bytes->number;
	memcpy(file->digest, digest->text, DIGEST_TEXT);
	return NULL;
}

static const char *read_root(const struct json_node *root, struct manifest *manifest)
{
	const struct json_node *its = find_member(root, "format", JSON_TEXT), *files;
	const struct json_node *version = find_member(root, "version", JSON_INT);
	const struct json_node *anonymised = find_member(root, "anonymised", JSON_BOOL);
	const char *wrong = NULL;

	if (!its || strcmp(its->text, format) != 0 || !version)
		return "it is not the manifest of a bundle";
	if (version->number != VERSION)
		return "it is of another version; unpack it with the verbatim that wrote it";
	files = find_member(root, "files", JSON_ARRAY);
	if (!files)
		return "it lists no files";
	manifest->anonymised = anonymised && anonymised->number;
	for (const struct json_node *each = json_first(files); each && !wrong;
	     each = json_next(each))
		wrong = read_entry(each, manifest);
	return wrong;
}

const char *manifest_read(const char *json, size_t n, struct manifest *ret_manifest)
{
	struct json_node *root;
	const char *wrong;

	if (json_parse(json, n, &root))
		return "it is not JSON";
	*ret_manifest = (struct manifest){ 0 };
	wrong = read_root(root, ret_manifest);
	free(root);
	return wrong;
}
