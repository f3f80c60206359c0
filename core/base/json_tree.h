#pragma once
/*
 * JSON (RFC 8259) that is read: a text, as a tree of its values.
 *
 * All values lie in one array in the order of the text: the first element of
 * an object or an array is behind it, and each tells how far the next one is.
 * Nothing of the text is believed; a text that is not JSON gives no tree. Once
 * made a tree is never changed: any thread.
 */
#include <stddef.h>
#include <stdint.h>

enum json_kind {
	JSON_NULL,
	JSON_BOOL,
	JSON_INT,  /* a number without fraction or exponent that 64 bits hold, signed */
	JSON_REAL, /* any other number: only its text is there */
	JSON_TEXT,
	JSON_OBJECT,
	JSON_ARRAY,
};

struct json_node {
	uint8_t kind;         /* enum json_kind */
	uint32_t count;       /* elements of an object or an array */
	uint32_t next;        /* how many nodes to the next element; 0: this is the last */
	uint32_t name_length; /* of a member of an object */
	const char *name;     /* ended by a 0; NULL: it has none */
	const char *raw;      /* where it stands in the text, */
	uint32_t raw_length;  /* with a text's quotes */
	uint32_t length;      /* of @text */
	union {
		int64_t number;   /* JSON_INT, JSON_BOOL */
		const char *text; /* JSON_TEXT: UTF-8, unescaped, ended by a 0 */
	};
};

/*
 * The tree of @json, @n bytes, which must stay as long as the tree: an object or
 * an array. Its root is to be freed with free(). 0, -EBADMSG or -ENOMEM.
 */
int json_parse(const char *json, size_t n, struct json_node **ret_root);

/* The elements of an object or an array one after the other; NULL behind the last. */
static inline const struct json_node *json_first(const struct json_node *node)
{
	return node && node->count ? node + 1 : NULL;
}

static inline const struct json_node *json_next(const struct json_node *node)
{
	return node->next ? node + node->next : NULL;
}

/* A member of an object by its name, @length bytes; the last of several. NULL: there is none. */
const struct json_node *json_find_member(const struct json_node *node, const char *name,
					 size_t length);

/* An element of an array, from 0; NULL past the end, or where it is no array. */
const struct json_node *json_find_element(const struct json_node *node, size_t index);
