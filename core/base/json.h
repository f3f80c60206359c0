#pragma once
/*
 * Writes JSON into a text: adds names, commas and quotes to the values, in order.
 *
 *	struct json json = { .out = &text };
 *
 *	json_open(&json, NULL, '{');
 *	json_put_text(&json, "device", name);
 *	json_open(&json, "ports", '[');
 *	json_put_int(&json, NULL, 1);
 *	json_close(&json, ']');
 *	json_close(&json, '}');
 *
 * gives {"device":"soft0","ports":[1]}. A value in an array has no name: NULL. If memory runs out,
 * out->failed is set. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"

struct json {
	struct text *out;
	bool spaced; /* ", " and ": " instead of "," and ":" */
	bool comma;  /* private: a value precedes the next one in the same object or array */
};

/* Begin an object '{' or an array '['; end it with '}' or ']'. */
void json_open(struct json *json, const char *name, char bracket);
void json_close(struct json *json, char bracket);

/* A NULL text becomes null. Texts are quoted as text_json() does. */
void json_put_text(struct json *json, const char *name, const char *text);
void json_put_int(struct json *json, const char *name, int64_t value);
void json_put_uint(struct json *json, const char *name, uint64_t value);
void json_put_bool(struct json *json, const char *name, bool value);

/* Add the comma and the name of a value; the caller then adds the value's text. */
void json_put_name(struct json *json, const char *name);

/* Put the next value on a separate line, indented by @indent blanks. */
void json_put_line(struct json *json, unsigned int indent);
