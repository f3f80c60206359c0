#pragma once
/*
 * Parser for JSON texts that resemble each other.
 *
 * The shape of a text is all of it but its numbers and strings. The first texts of a shape are
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

/* How many nodes a tree of that shape has. */
uint32_t json_shape_count(const struct json_shape *shape);

/* Append the text of a tree of that shape. A number may be without `raw`. */
void json_shape_write(const struct json_shape *shape, const struct json_node *root,
		      struct text *to);

/*
 * For the caller: JSON_PLACES numbers, from 0, which may store the places of values in trees of
 * this shape. A place is 0 until it was set.
 */
static inline uint16_t json_shape_place(const struct json_shape *shape, unsigned int i)
{
	const struct json_places *places = (const struct json_places *)shape; /* its first member */

	return __atomic_load_n(&places->at[i], __ATOMIC_RELAXED);
}
void json_shape_set_place(const struct json_shape *shape, unsigned int i, uint16_t place);
