#pragma once
/*
 * Parser for JSON texts that resemble each other.
 *
 * The shape of a text is the text without its numbers and strings. The first texts of a shape are
 * parsed as by json_parse(); the next ones are only compared with the shape, which takes a third of
 * the time. Shapes are few and are never freed. Any thread.
 */
#include <stdint.h>

#include "core/base/json_tree.h"
#include "core/base/text.h"

enum { JSON_PLACES = 1024 };

struct json_shape;

struct json_places {
	uint16_t at[JSON_PLACES];
};

/* The bytes that the tree of a text of @n bytes needs if it has that shape. */
size_t json_shape_bytes(const struct json_shape *shape, size_t n);

/*
 * The tree of @json, as by json_parse(), and its shape, or NULL. All trees of one shape have the
 * same values in the same nodes, of which only numbers, texts, truth values and null differ. If the
 * shape is @guess, which may be NULL, *@ret_root is @room, of json_shape_bytes() bytes; otherwise
 * the caller frees *@ret_root with free().
 */
int json_shape_parse(const char *json, size_t n, const struct json_shape *guess, void *room,
		     const struct json_shape **ret_shape, struct json_node **ret_root);

/* The number of nodes in a tree of that shape. */
uint32_t json_shape_count(const struct json_shape *shape);

/* Append the JSON text of a tree of that shape. Numbers need no `raw`. */
void json_shape_write(const struct json_shape *shape, const struct json_node *root,
		      struct text *to);

/*
 * For the caller: JSON_PLACES numbers, initially 0, to remember where values are in trees of this
 * shape.
 */
static inline uint16_t json_shape_place(const struct json_shape *shape, unsigned int i)
{
	/* the first member of struct json_shape */
	const struct json_places *places = (const struct json_places *)shape;

	return __atomic_load_n(&places->at[i], __ATOMIC_RELAXED);
}
void json_shape_set_place(const struct json_shape *shape, unsigned int i, uint16_t place);
