#pragma once
/*
 * A value of a verb's argument as JSON: numbers are numbers; flags, enumerators and objects their
 * names. Not thread-safe.
 */
#include "cli/dump/values.h"
#include "core/base/json.h"

struct json_values {
	struct json json;
	struct values values; /* its `out` is the scratch text; nothing is printed beside objects */
	bool beside;          /* "qp_is" beside "qp" */
	char *scratch;
	size_t size;
};

/* Returns 0 or -ENOMEM. */
int json_values_init(struct json_values *jv, struct trace *trace, struct names *names,
		     struct text *out);
void json_values_fini(struct json_values *jv);

/* The text printed to jv->values.out since the last call; valid until more is printed. */
const char *json_values_get_text(struct json_values *jv);

/* Write that text as a string; nothing if it is empty. The "<>" around a name is removed. */
void json_values_put_printed(struct json_values *jv, const char *name);

/* Add the name of an object; null for NULL. */
void json_values_put_object(struct json_values *jv, const char *name, const struct object *object);

/* "qp1"; its address as text if it is not known; null for 0. */
void json_values_put_handle(struct json_values *jv, const char *name, enum object_kind kind,
			    uint64_t handle);
void json_values_put_flags(struct json_values *jv, const char *name, const char *of,
			   uint64_t value);
void json_values_put_enum(struct json_values *jv, const char *name, const struct enum_info *of,
			  int64_t value);

/* The value of @field among a call's arguments. */
void json_values_put_field(struct json_values *jv, const char *name, const struct field_info *field,
			   const struct json_node *value);
