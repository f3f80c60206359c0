/*
 * Replacing a value according to its kind
 */
#include "core/store/anonymise/replace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json_tree.h"
#include "core/store/anonymise/addresses.h"
#include "core/store/anonymise/names.h"

/* digits of a number as hex text; longer texts may contain addresses */
enum { OPTION_DIGITS = 16 };

static void add_substitute(struct substitutes *s, enum substitute_kind kind, const char *text,
			   struct text *to)
{
	text_addf(to, "%s", substitute_text(s, kind, text, strlen(text)));
}

static void replace_hash(struct substitutes *s, const char *text, struct text *to)
{
	uint64_t hash = strtoull(text, NULL, 16);

	if (*text)
		text_addf(to, "%016" PRIx64, substitute_number(s, SUBSTITUTE_HASH, hash, 64));
}

/* "/sys/class/infiniband/mlx5_0" */
static void replace_folder(struct substitutes *s, const char *path, struct text *to)
{
	const char *slash = strrchr(path, '/');
	struct text folder = { 0 };

	if (slash) {
		text_add(&folder, path, (size_t)(slash - path) + 1);
		replace_path(s, folder.at ? folder.at : "", to);
		text_fini(&folder);
	}
	replace_device(s, slash ? slash + 1 : path, to);
}

/* Copy a text that identifies nobody. */
static void copy_text(struct substitutes *s, const char *text, struct text *to)
{
	(void)s;
	text_add(to, text, strlen(text));
}

static void replace_text_value(struct substitutes *s, const char *text, struct text *to)
{
	add_substitute(s, SUBSTITUTE_TEXT, text, to);
}

static void replace_name(struct substitutes *s, const char *text, struct text *to)
{
	add_substitute(s, SUBSTITUTE_NAME, text, to);
}

static void replace_mark(struct substitutes *s, const char *text, struct text *to)
{
	add_substitute(s, SUBSTITUTE_MARK, text, to);
}

static void replace_boot(struct substitutes *s, const char *text, struct text *to)
{
	add_substitute(s, SUBSTITUTE_BOOT, text, to);
}

static void replace_kernel(struct substitutes *s, const char *text, struct text *to)
{
	(void)s;
	replace_release(text, to);
}

static void replace_filter(struct substitutes *s, const char *text, struct text *to)
{
	(strstr(text, "device=") ? replace_text_value : copy_text)(s, text, to);
}

static void replace_gid_or_text(struct substitutes *s, const char *text, struct text *to)
{
	if (!replace_gid_text(s, text, to))
		replace_text_value(s, text, to);
}

static void replace_address_or_text(struct substitutes *s, const char *text, struct text *to)
{
	if (!replace_address(s, text, to))
		replace_text_value(s, text, to);
}

static void replace_service(struct substitutes *s, const char *text, struct text *to)
{
	(text[strspn(text, "0123456789")] ? replace_text_value : copy_text)(s, text, to);
}

static void replace_private(struct substitutes *s, const char *hex, struct text *to)
{
	(void)s;
	for (size_t n = strlen(hex); n; n--)
		text_char(to, '0');
}

static void replace_option(struct substitutes *s, const char *hex, struct text *to)
{
	(strlen(hex) > OPTION_DIGITS ? replace_private : copy_text)(s, hex, to);
}

static void replace_json(struct substitutes *s, const char *json, struct text *to)
{
	replace_arguments(s, json, strlen(json), to);
}

/* A text of an identity without an entry is not copied. */
static void (*const replace_as[])(struct substitutes *s, const char *text, struct text *to) = {
	[IDENTITY_NONE] = copy_text,
	[IDENTITY_HOST] = replace_host,
	[IDENTITY_PATH] = replace_path,
	[IDENTITY_COMMAND] = replace_command,
	[IDENTITY_NAME] = replace_name,
	[IDENTITY_MARK] = replace_mark,
	[IDENTITY_TEXT] = replace_text_value,
	[IDENTITY_VALUE] = replace_value,
	[IDENTITY_FILTER] = replace_filter,
	[IDENTITY_RELEASE] = replace_kernel,
	[IDENTITY_BOOT] = replace_boot,
	[IDENTITY_DEVICE] = replace_device,
	[IDENTITY_FOLDER] = replace_folder,
	[IDENTITY_GID] = replace_gid_or_text,
	[IDENTITY_ADDRESS] = replace_address_or_text,
	[IDENTITY_SERVICE] = replace_service,
	[IDENTITY_PRIVATE] = replace_private,
	[IDENTITY_OPTION] = replace_option,
	[IDENTITY_ARGUMENTS] = replace_json,
	[IDENTITY_HASH] = replace_hash,
};

bool replace_text(struct substitutes *s, enum identity identity, const char *text, struct text *to)
{
	const size_t n = sizeof(replace_as) / sizeof(*replace_as);

	if (identity < 0 || (size_t)identity >= n || !replace_as[identity])
		return false;
	replace_as[identity](s, text, to);
	return true;
}

int64_t replace_number(struct substitutes *s, enum identity identity, int64_t number)
{
	if (identity == IDENTITY_GUID)
		return (int64_t)replace_guid(s, (uint64_t)number);
	if (identity == IDENTITY_HASH)
		return (int64_t)substitute_number(s, SUBSTITUTE_HASH, (uint64_t)number, 64);
	return number;
}

/* Arguments */

/* IBV_QPS_RTS, RDMA_CM_EVENT_REJECTED: never a text of the program, all of which are in the list */
static bool is_enumerator(const char *text)
{
	return (!strncmp(text, "IBV_", 4) || !strncmp(text, "RDMA_", 5)) &&
	       !text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];
}

/* State of replacing in a JSON text. */
struct replacement {
	struct substitutes *substitutes;
	bool hosts; /* replace only names of hosts */
};

/* Is the text a host's name? Addresses like "192.0.2.1" are not. */
static bool is_host_name(struct substitutes *s, enum identity identity, const char *text)
{
	struct text ignored = { 0 };
	bool address = identity != IDENTITY_HOST || replace_address(s, text, &ignored);

	text_fini(&ignored);
	return !address;
}

static void add_text(const struct replacement *r, enum identity identity,
		     const struct json_node *node, struct text *to)
{
	struct substitutes *s = r->substitutes;
	struct text text = { 0 };

	if (r->hosts && !is_host_name(s, identity, node->text)) {
		text_add(to, node->raw, node->raw_length);
		return;
	}
	if (identity == IDENTITY_UNKNOWN)
		identity = is_enumerator(node->text) ? IDENTITY_NONE : IDENTITY_TEXT;
	if (!replace_text(s, identity, node->text, &text))
		text_addf(to, "null");
	else
		text_json(to, text.at ? text.at : "", text.used);
	to->failed |= text.failed;
	text_fini(&text);
}

/*
 * The identity of a member of private data. Incomplete private data is an object: length, hash,
 * first bytes.
 */
static enum identity identity_of_member(const struct json_node *node, enum identity outer)
{
	if (outer == IDENTITY_PRIVATE && node->name && !strcmp(node->name, "hash"))
		return IDENTITY_HASH;
	if (outer == IDENTITY_PRIVATE || !node->name) /* an element has the identity of its array */
		return outer;
	return identity_of_argument(node->name, node->name_length);
}

static void add_node(const struct replacement *r, enum identity identity,
		     const struct json_node *node, struct text *to)
{
	bool object = node->kind == JSON_OBJECT;
	const struct json_node *first = json_first(node);

	if (node->kind == JSON_TEXT) {
		add_text(r, identity, node, to);
		return;
	}
	if (node->kind == JSON_INT && identity == IDENTITY_GUID && !r->hosts) {
		text_addf(to, "%" PRId64, replace_number(r->substitutes, identity, node->number));
		return;
	}
	if (!object && node->kind != JSON_ARRAY) {
		text_add(to, node->raw, node->raw_length);
		return;
	}
	text_char(to, object ? '{' : '[');
	for (const struct json_node *each = first; each; each = json_next(each)) {
		if (each != first)
			text_char(to, ',');
		if (object) {
			text_json(to, each->name, each->name_length);
			text_char(to, ':');
		}
		add_node(r, identity_of_member(each, identity), each, to);
	}
	text_char(to, object ? '}' : ']');
}

static void replace_members(const struct replacement *replacing, const char *json, size_t n,
			    struct text *to)
{
	struct json_node *root;

	if (json_parse(json, n, &root)) {
		text_addf(to, "{}");
		return;
	}
	add_node(replacing, IDENTITY_UNKNOWN, root, to);
	free(root);
}

void replace_arguments(struct substitutes *s, const char *json, size_t n, struct text *to)
{
	const struct replacement all = { .substitutes = s };

	replace_members(&all, json, n, to);
}

void replace_hosts(struct substitutes *s, const char *json, size_t n, struct text *to)
{
	const struct replacement hosts = { .substitutes = s, .hosts = true };

	replace_members(&hosts, json, n, to);
}
