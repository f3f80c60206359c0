#pragma once
/*
 * Parser for JSON (RFC 8259): a text as a tree of its values.
 *
 * All values are in one array in the order of the text: an object or an array is followed by its
 * first element, and each element has the distance to the next. The text is not trusted; a text
 * that is not JSON gives no tree. A tree is never changed once it was created: any thread.
 */
#include <stddef.h>
#include <stdint.h>

enum json_kind {
	JSON_NULL,
	JSON_BOOL,
	JSON_INT,  /* a number without fraction or exponent that fits into 64 bits, signed */
	JSON_REAL, /* any other number: only its text is stored */
	JSON_TEXT,
	JSON_OBJECT,
	JSON_ARRAY,
};

struct json_node {
	uint8_t kind;         /* enum json_kind */
	uint32_t count;       /* elements of an object or an array */
	uint32_t next;        /* distance in nodes to the next element; 0: this is the last */
	uint32_t name_length; /* of a member of an object */
	const char *name;     /* terminated by 0; NULL: an element of an array, or the root */
	const char *raw;      /* the value's text; NULL: a JSON_INT that was not parsed */
	uint32_t raw_length;  /* length of this text, including the quotes of a string */
	uint32_t length;      /* of @text */
	union {
		int64_t number;   /* JSON_INT, JSON_BOOL */
		const char *text; /* JSON_TEXT: UTF-8, unescaped, terminated by 0 */
	};
};

/*
 * Parse the @n bytes of @json, an object or an array. They must stay valid as long as the tree.
 * Free the root with free(). 0, -EBADMSG or -ENOMEM.
 */
int json_parse(const char *json, size_t n, struct json_node **ret_root);

/* Iterate over the elements of an object or an array; NULL after the last. */
static inline const struct json_node *json_first(const struct json_node *node)
{
	return node && node->count ? node + 1 : NULL;
}

static inline const struct json_node *json_next(const struct json_node *node)
{
	return node->next ? node + node->next : NULL;
}

/*
 * The member of an object with the name of @length bytes; the last one if several have it. NULL:
 * none.
 */
const struct json_node *json_find_member(const struct json_node *node, const char *name,
					 size_t length);

/* Element @index of an array, from 0; NULL past the end, or if @node is not an array. */
const struct json_node *json_find_element(const struct json_node *node, size_t index);
