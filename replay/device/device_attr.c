/*
 * Compares a device with the recorded one
 *
 * The name means little: many hosts have an mlx5_0. So vendor, part, hardware, firmware and all
 * limits are compared, field by field in the order of the list of structures. GUIDs differ between
 * devices of the same kind, which behave the same.
 */
#include "replay/device/device_attr.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/db/args_visit.h"
#include "core/store/read/build.h"
#include "core/wire/desc.h"

enum { SAID_MAX = 6 }; /* differences listed in the text; others are counted */

struct comparison {
	char *text;
	size_t size, used;
	unsigned int differences, guids;
};

static void add_text(struct comparison *c, const char *text)
{
	int n = c->used < c->size ? snprintf(c->text + c->used, c->size - c->used, "%s", text) : 0;

	c->used += n > 0 ? (size_t)n : 0;
}

static void note_difference(struct comparison *c, const char *name, const char *there,
			    const char *here)
{
	char text[256];

	if (strstr(name, "guid"))
		c->guids++;
	if (c->differences++ >= SAID_MAX)
		return;
	snprintf(text, sizeof(text), "%s%s %s recorded, %s replayed",
		 c->differences > 1 ? ", " : "", name, there, here);
	add_text(c, text);
}

static void write_number(const char *name, int64_t value, char text[32])
{
	snprintf(text, 32, strstr(name, "guid") ? "%016" PRIx64 : "%" PRId64, value);
}

static int compare_field(void *arg, const struct field_info *field, const char *name,
			 const struct json_node *there, const struct json_node *here)
{
	char number_there[32], number_here[32];
	struct comparison *c = arg;
	int64_t a, b;

	if (field->kind == FIELD_STR && here && there->kind == JSON_TEXT &&
	    here->kind == JSON_TEXT) {
		if (strcmp(there->text, here->text))
			note_difference(c, name, there->text, here->text);
	} else if (args_value(there, &a) && args_value(here, &b) && a != b) {
		write_number(name, a, number_there);
		write_number(name, b, number_here);
		note_difference(c, name, number_there, number_here);
	}
	return 0;
}

enum device_likeness device_attr_compare(const struct args *there, enum arg in,
					 const struct ibv_device_attr *here, char *text,
					 size_t size)
{
	const uint64_t args[BUILD_ARGS] = { 0, (uintptr_t)here };
	const struct struct_info *info = verb_infos[VERB_query_device].args.fields[1].type;
	struct comparison c = { .text = text, .size = size };
	struct args *parsed = NULL;
	char *json = NULL, more[32];

	*text = '\0';
	if (!args_out_json(VERB_query_device, args, 0, &json))
		parsed = args_new(json, strlen(json));
	args_visit_values(info, args_find(there, in), args_find(parsed, ARG(device_attr)), "",
			  compare_field, &c);
	snprintf(more, sizeof(more), ", and %u more", c.differences - SAID_MAX);
	if (c.differences > SAID_MAX)
		add_text(&c, more);
	args_unref(parsed);
	free(json);
	return !c.differences ? DEVICE_SAME : c.guids == c.differences ? DEVICE_TWIN : DEVICE_OTHER;
}
