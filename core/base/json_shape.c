/*
 * JSON texts that resemble each other
 *
 *	{"mr":94536479111936,"length":4096}
 *	|----|              |---------|   |	literals: equal in all texts of the shape
 *	      ^              ^         ^
 *	      scalars: parsed
 *
 * The table of shapes is hashed by the begin of the text without its digits. If texts differ a lot,
 * it becomes full, and further texts are parsed by json_parse().
 */
#include "core/base/json_shape.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json_tree_priv.h"

enum {
	SHAPES = 512,
	WAYS = 4,         /* shapes with the same hash */
	HASHED = 32,      /* bytes */
	BYTES_MAX = 2048, /* bytes of a text */
	NODES_MAX = 128,
};

/* A position in any text of the shape. */
struct text_position {
	uint16_t literal, offset;
};

struct json_shape {
	struct json_places places;
	char *text;              /* the first text of the shape; the literals point into it */
	struct json_node *nodes; /* the tree of @text */
	uint32_t nnodes, nscalars;
	struct literal {
		const char *at;
		uint32_t n;
		/* one before each scalar, and one after the last */
	} literals[NODES_MAX + 1];
	/* where each object and array begins and ends, by node */
	struct text_position from[NODES_MAX], to[NODES_MAX];
};

static struct json_shape *shapes[SHAPES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while a shape is added */

static bool is_scalar(const struct json_node *node)
{
	return node->kind != JSON_OBJECT && node->kind != JSON_ARRAY;
}

static uint32_t hash_begin(const char *json, size_t n)
{
	uint32_t hash = 0;

	for (size_t i = 0; i < n && i < HASHED; i++)
		if ((unsigned char)(json[i] - '0') >= 10)
			hash = (hash ^ (unsigned char)json[i]) * 0x9e3779b1u;
	return hash >> 16;
}

static struct json_shape **shape_at(uint32_t hash, unsigned int way)
{
	return &shapes[(hash + way) % SHAPES];
}

/* Learning a shape */

static struct text_position locate_in_shape(const struct json_shape *shape, const char *at)
{
	uint32_t i = shape->nscalars;

	while (i && at < shape->literals[i].at)
		i--;
	return (struct text_position){ (uint16_t)i, (uint16_t)(at - shape->literals[i].at) };
}

static void note_literals(struct json_shape *shape, size_t n)
{
	const char *from = shape->text;
	uint32_t i = 0;

	for (uint32_t k = 0; k < shape->nnodes; k++) {
		const struct json_node *node = &shape->nodes[k];

		if (!is_scalar(node))
			continue;
		shape->literals[i++] = (struct literal){ from, (uint32_t)(node->raw - from) };
		from = node->raw + node->raw_length;
	}
	shape->literals[i] = (struct literal){ from, (uint32_t)(shape->text + n - from) };
	shape->nscalars = i;
	for (uint32_t k = 0; k < shape->nnodes; k++) {
		const struct json_node *node = &shape->nodes[k];

		if (is_scalar(node))
			continue;
		shape->from[k] = locate_in_shape(shape, node->raw);
		shape->to[k] = locate_in_shape(shape, node->raw + node->raw_length);
	}
}

/* The number of nodes of a tree. */
static uint32_t count_nodes(const struct json_node *root)
{
	uint32_t n = 1;

	for (const struct json_node *at = json_first(root); at; at = json_next(at))
		n += count_nodes(at);
	return n;
}

static void free_shape(struct json_shape *shape)
{
	if (!shape)
		return;
	free(shape->nodes);
	free(shape->text);
	free(shape);
}

/* A new shape from the text @json, which json_parse() has accepted. NULL: out of memory. */
static struct json_shape *new_shape(const char *json, size_t n, uint32_t nnodes)
{
	struct json_shape *shape = calloc(1, sizeof(*shape));

	if (!shape)
		return NULL;
	shape->text = malloc(n);
	if (shape->text)
		memcpy(shape->text, json, n);
	if (!shape->text || json_parse(shape->text, n, &shape->nodes)) {
		free_shape(shape);
		return NULL;
	}
	shape->nnodes = nnodes;
	note_literals(shape, n);
	return shape;
}

static const struct json_shape *learn_shape(const char *json, size_t n, uint32_t hash,
					    const struct json_node *root)
{
	uint32_t nnodes = n > BYTES_MAX ? 0 : count_nodes(root);
	struct json_shape *shape = NULL;

	if (!nnodes || nnodes > NODES_MAX)
		return NULL;
	pthread_mutex_lock(&lock);
	for (unsigned int way = 0; way < WAYS && !shape; way++) {
		struct json_shape **at = shape_at(hash, way);

		if (*at)
			continue;
		shape = new_shape(json, n, nnodes);
		/* pairs with the load in json_shape_parse() */
		__atomic_store_n(at, shape, __ATOMIC_RELEASE);
		break;
	}
	pthread_mutex_unlock(&lock);
	return shape;
}

/* Using a shape */

/* How many of the eight bytes, from the lowest on, are digits before the first other byte? */
static inline unsigned int count_digits(uint64_t bytes)
{
	uint64_t others = bytes ^ 0x3030303030303030; /* a digit becomes its value */

	others = (others | (others + 0x7676767676767676)) & 0x8080808080808080;
	return others ? (unsigned int)__builtin_ctzll(others) / 8 : 8;
}

/*
 * The value of the first @n of eight bytes, which are digits: joined into pairs, fours and eights.
 */
static inline uint64_t join_digits(uint64_t bytes, unsigned int n)
{
	uint64_t digits = (bytes ^ 0x3030303030303030) << (64 - 8 * n); /* zeros before them */

	digits = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ff;
	digits = (digits * 100 + (digits >> 16)) & 0x0000ffff0000ffff;
	return (digits * 10000 + (digits >> 32)) & 0xffffffff;
}

enum { DIGITS = 18 }; /* numbers that always fit into int64_t */

/* Read at most DIGITS digits at @at; returns the byte after them. */
static inline const char *read_digits(const char *at, const char *end, uint64_t *ret_value)
{
	static const uint32_t powers[] = { 1,      10,      100,      1000,     10000,
					   100000, 1000000, 10000000, 100000000 };
	const char *most = end - at < DIGITS ? end : at + DIGITS;
	uint64_t value = 0, bytes;
	unsigned int n = 8;

	while (n == 8 && most - at >= 8) {
		memcpy(&bytes, at, sizeof(bytes));
		n = count_digits(le64toh(bytes));
		if (n)
			value = value * powers[n] + join_digits(le64toh(bytes), n);
		at += n;
	}
	for (; n == 8 && at < most && (unsigned char)(*at - '0') < 10; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	*ret_value = value;
	return at;
}

/* Read a value that is a number of at most DIGITS digits, as nearly all values are. */
static inline bool parse_digits(struct json_parser *p, struct json_node *node)
{
	const char *from = p->at, *at;
	uint64_t value;

	at = read_digits(from, p->end, &value);
	if (at == from || at == p->end || (*at != ',' && *at != '}' && *at != ']') ||
	    (*from == '0' && at > from + 1))
		return false;
	*node = (struct json_node){ .kind = JSON_INT,
				    .raw = from,
				    .raw_length = (uint32_t)(at - from),
				    .number = (int64_t)value };
	p->at = at;
	return true;
}

/* Read a value other than an object or an array into node @k. */
static inline bool parse_scalar(struct json_parser *p, uint32_t k)
{
	if (parse_digits(p, &p->nodes[k]))
		return true;
	p->nnodes = k;
	return *p->at != '{' && *p->at != '[' && json_parse_value(p);
}

/* Parse the scalars and check the literals between them. @at: where each literal begins. */
static bool parse_scalars(const struct json_shape *shape, struct json_parser *p, const char **at)
{
	const struct literal *literal = shape->literals;

	for (uint32_t k = 0; k < shape->nnodes; k++) {
		const struct json_node *like = &shape->nodes[k];
		struct json_node *node = &p->nodes[k];

		if (!is_scalar(like)) {
			*node = *like;
			continue;
		}
		if ((size_t)(p->end - p->at) <= literal->n ||
		    memcmp(p->at, literal->at, literal->n))
			return false;
		*at++ = p->at;
		p->at += literal++->n;
		if (!parse_scalar(p, k))
			return false;
		node->next = like->next;
		node->name = like->name;
		node->name_length = like->name_length;
	}
	*at = p->at;
	return (size_t)(p->end - p->at) == literal->n && !memcmp(p->at, literal->at, literal->n);
}

size_t json_shape_bytes(const struct json_shape *shape, size_t n)
{
	return shape->nnodes * sizeof(struct json_node) + n + 1;
}

/* Set the position in the text of each object and array. */
static void set_positions(const struct json_shape *shape, struct json_node *nodes,
			  const char *const *at)
{
	for (uint32_t k = 0; k < shape->nnodes; k++) {
		const struct text_position *from = &shape->from[k], *to = &shape->to[k];

		if (is_scalar(&shape->nodes[k]))
			continue;
		nodes[k].raw = at[from->literal] + from->offset;
		nodes[k].raw_length = (uint32_t)(at[to->literal] + to->offset - nodes[k].raw);
	}
}

/* Make a tree like that of the shape in the memory @room. False: the text has another shape. */
static bool parse_same_shape(const struct json_shape *shape, const char *json, size_t n,
			     struct json_node *room)
{
	struct json_parser p = {
		.at = json, .end = json + n, .nodes = room, .texts = (char *)(room + shape->nnodes)
	};
	const char *at[NODES_MAX + 1];

	if (!parse_scalars(shape, &p, at))
		return false;
	set_positions(shape, room, at);
	return true;
}

/* The same in allocated memory; NULL: another shape, or out of memory. */
static struct json_node *new_same_shape(const struct json_shape *shape, const char *json, size_t n)
{
	struct json_node *room = malloc(json_shape_bytes(shape, n));

	if (room && parse_same_shape(shape, json, n, room))
		return room;
	free(room);
	return NULL;
}

/* A tree may be copied and outlive its memory: its names are those of the shape, which stays. */
static void take_names(const struct json_shape *shape, struct json_node *root)
{
	for (uint32_t k = 0; k < shape->nnodes; k++)
		root[k].name = shape->nodes[k].name;
}

static int parse_by_hash(const char *json, size_t n, const struct json_shape **ret_shape,
			 struct json_node **ret_root)
{
	uint32_t hash = hash_begin(json, n);
	int err;

	for (unsigned int way = 0; way < WAYS; way++) {
		/* pairs with the store in learn_shape() */
		const struct json_shape *shape =
			__atomic_load_n(shape_at(hash, way), __ATOMIC_ACQUIRE);
		struct json_node *root = shape ? new_same_shape(shape, json, n) : NULL;

		if (!shape)
			break;
		if (!root)
			continue;
		*ret_shape = shape;
		*ret_root = root;
		return 0;
	}
	err = json_parse(json, n, ret_root);
	*ret_shape = err ? NULL : learn_shape(json, n, hash, *ret_root);
	if (*ret_shape)
		take_names(*ret_shape, *ret_root);
	return err;
}

int json_shape_parse(const char *json, size_t n, const struct json_shape *guess, void *room,
		     const struct json_shape **ret_shape, struct json_node **ret_root)
{
	if (!guess || !parse_same_shape(guess, json, n, room))
		return parse_by_hash(json, n, ret_shape, ret_root);
	*ret_shape = guess;
	*ret_root = room;
	return 0;
}

uint32_t json_shape_count(const struct json_shape *shape)
{
	return shape->nnodes;
}

void json_shape_write(const struct json_shape *shape, const struct json_node *root, struct text *to)
{
	const struct literal *literal = shape->literals;

	for (const struct json_node *node = root; node < root + shape->nnodes; node++) {
		if (!is_scalar(node))
			continue;
		text_add(to, literal->at, literal->n);
		literal++;
		if (node->raw)
			text_add(to, node->raw, node->raw_length);
		else
			text_number(to, node->number);
	}
	text_add(to, literal->at, literal->n);
}

void json_shape_set_place(const struct json_shape *shape, unsigned int i, uint16_t place)
{
	__atomic_store_n(&((struct json_shape *)shape)->places.at[i], place, __ATOMIC_RELAXED);
}
