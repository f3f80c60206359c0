/*
 * The arguments of a call
 */
#include "core/store/db/args.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json_shape.h"
#include "core/store/chunk/call_block.h"
#include "core/wire/desc.h"
#include "core/wire/hash.h"
#include "core/wire/log.h"

/*
 * Allocated together with its text and, if its shape is guessed, with its tree. Arguments that were
 * filled from holes have no text until args_json() writes it.
 */
struct args {
	atomic_uint refs;
	bool parsed, filled;
	char *_Atomic written;          /* if filled: the text that args_json() wrote; or NULL */
	struct json_node *root;         /* NULL: not parsed yet, or not JSON */
	const struct json_shape *shape; /* of @root; a guess until the text is parsed; or NULL */
	const struct json_shape **last; /* slot of the verb's last shape on this side; or NULL */
	size_t size;
	char json[];
};

extern const struct enum_info *const enum_infos[];

/* The result of verbs that return nothing but a value, half of all verbs: never freed. */
static struct json_node no_members = { .kind = JSON_OBJECT, .raw_length = 2 };
static struct args nothing = { .parsed = true, .root = &no_members, .size = 2, .json = "{}" };

static pthread_once_t nothing_filled = PTHREAD_ONCE_INIT;

static void init_empty_args(void)
{
	no_members.raw = nothing.json;
}

static size_t align_up(size_t n)
{
	return (n + _Alignof(struct json_node) - 1) & ~(_Alignof(struct json_node) - 1);
}

static void *tree_memory(struct args *args)
{
	return args->json + align_up(args->size + 1);
}

/* Filling arguments from holes */

struct args_form {
	const struct json_shape *shape;
	struct json_node *nodes; /* of the arguments from which the form was learned */
	uint32_t nnodes;
	uint32_t nholes, holes[]; /* index of the node of each hole */
};

/*
 * Set the text of a node without a hole to a literal. False: its value may differ between calls.
 */
static bool store_constant(struct json_node *node)
{
	switch (node->kind) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		node->raw = NULL;
		return true;
	case JSON_NULL:
		node->raw = "null";
		return true;
	case JSON_BOOL:
		node->raw = node->number ? "true" : "false";
		return true;
	default:
		return false;
	}
}

/* Find the node of each hole: their values begin at @at[] in @json. */
static bool find_holes(struct args_form *form, const char *json, const size_t *at, size_t n)
{
	for (uint32_t k = 0; k < form->nnodes; k++) {
		struct json_node *node = &form->nodes[k];

		if (form->nholes < n && node->raw == json + at[form->nholes]) {
			form->holes[form->nholes++] = k;
			node->raw = NULL;
		} else if (!store_constant(node)) {
			return false;
		}
	}
	return form->nholes == n;
}

static struct args_form *learn_form(const struct text *json, const size_t *at, size_t n)
{
	struct args_form *form = calloc(1, sizeof(*form) + n * sizeof(*form->holes));

	if (!form)
		return NULL;
	if (!json_shape_parse(json->at, json->used, NULL, NULL, &form->shape, &form->nodes) &&
	    form->shape) {
		form->nnodes = json_shape_count(form->shape);
		if (find_holes(form, json->at, at, n))
			return form;
	}
	args_form_free(form);
	return NULL;
}

struct args_form *args_form_new(const struct call_holes *holes)
{
	size_t *at = calloc(holes->n + 1, sizeof(*at));
	struct args_form *form = NULL;
	struct text json = { 0 };

	if (at)
		call_holes_fill(holes, &json, at);
	if (at && !json.failed && json.used && json.used <= CALL_ARGS_MAX)
		form = learn_form(&json, at, holes->n);
	text_fini(&json);
	free(at);
	return form;
}

void args_form_free(struct args_form *form)
{
	if (form)
		free(form->nodes);
	free(form);
}

/* The bytes that the strings need, each twice: put_string(). SIZE_MAX: they cannot be filled in. */
static size_t count_string_bytes(const struct args_form *form, const struct call_holes *holes)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < form->nholes; i++) {
		const struct shapes_text *text;

		if (form->nodes[form->holes[i]].kind != JSON_TEXT)
			continue;
		text = call_holes_string(holes, i);
		if (!text || text->length > CALL_ARGS_MAX)
			return SIZE_MAX;
		bytes += 2 * text->length + 3;
	}
	return bytes;
}

/* Copy a string with its quotes, then without them. Returns the end. */
static char *put_string(struct json_node *node, const struct shapes_text *text, char *to)
{
	node->raw = to;
	node->raw_length = (uint32_t)text->length + 2;
	node->length = (uint32_t)text->length;
	*to++ = '"';
	memcpy(to, text->at, text->length);
	to += text->length;
	*to++ = '"';
	node->text = to;
	memcpy(to, text->at, text->length);
	to += text->length;
	*to++ = '\0';
	return to;
}

struct args *args_fill(const struct args_form *form, const struct call_holes *holes)
{
	size_t tree = form->nnodes * sizeof(struct json_node);
	size_t bytes = count_string_bytes(form, holes);
	struct args *args =
		bytes < SIZE_MAX ? malloc(sizeof(*args) + align_up(1) + tree + bytes) : NULL;
	struct json_node *nodes;
	char *texts;

	if (!args)
		return NULL;
	*args = (struct args){ .refs = 1, .parsed = true, .filled = true, .shape = form->shape };
	args->root = nodes = tree_memory(args);
	texts = (char *)(nodes + form->nnodes);
	memcpy(nodes, form->nodes, tree);
	for (uint32_t i = 0; i < form->nholes; i++) {
		struct json_node *node = &nodes[form->holes[i]];

		if (node->kind == JSON_TEXT)
			texts = put_string(node, call_holes_string(holes, i), texts);
		else
			node->number = (int64_t)holes->values[i * holes->step];
	}
	return args;
}

/* Write the text of filled arguments. If several threads do it at once, the first text is used. */
static __attribute__((noinline)) const char *write_filled(struct args *args)
{
	char *written = atomic_load(&args->written);
	struct text json = { 0 };

	if (written)
		return written;
	json_shape_write(args->shape, args->root, &json);
	if (json.failed) {
		text_fini(&json);
		return NULL;
	}
	if (atomic_compare_exchange_strong(&args->written, &written, json.at))
		return json.at;
	text_fini(&json);
	return written;
}

/* Parsing */

static struct args *new_args(const char *json, size_t n, const struct json_shape **last)
{
	/* pairs with the store in parse_now() */
	const struct json_shape *guess = last ? __atomic_load_n(last, __ATOMIC_ACQUIRE) : NULL;
	size_t room = guess ? json_shape_bytes(guess, n) : 0;
	struct args *args = malloc(sizeof(*args) + align_up(n + 1) + room);

	if (!args)
		return NULL;
	*args = (struct args){ .refs = 1, .size = n, .shape = guess, .last = last };
	memcpy(args->json, json, n);
	args->json[n] = '\0';
	return args;
}

struct args *args_new(const char *json, size_t n)
{
	return new_args(json, n, NULL);
}

struct args *args_new_of(enum verb verb, enum args_side side, const char *json, size_t n)
{
	static const struct json_shape *lasts[VERB_COUNT][2];

	if (n != 2 || memcmp(json, "{}", 2))
		return new_args(json, n, &lasts[verb][side]);
	pthread_once(&nothing_filled, init_empty_args);
	return &nothing;
}

struct args *args_ref(struct args *args)
{
	if (args && args != &nothing)
		atomic_fetch_add(&args->refs, 1);
	return args;
}

void args_unref(struct args *args)
{
	if (!args || args == &nothing || atomic_fetch_sub(&args->refs, 1) != 1)
		return;
	free(args->written);
	if ((void *)args->root != tree_memory(args))
		free(args->root);
	free(args);
}

static __attribute__((noinline)) int parse_now(const struct args *args)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;
	struct args *unparsed =
		(struct args *)args; /* const for callers: parsing does not change its values */
	int err;

	err = json_shape_parse(args->json, args->size, args->shape, tree_memory(unparsed),
			       &unparsed->shape, &unparsed->root);
	if (err == -ENOMEM)
		return err;
	unparsed->parsed = true;
	/* pairs with the load in new_args() */
	if (args->last && args->shape &&
	    args->shape != __atomic_load_n(args->last, __ATOMIC_RELAXED))
		__atomic_store_n(args->last, args->shape, __ATOMIC_RELEASE);
	if (err && !atomic_flag_test_and_set(&told))
		log_note("the trace is DAMAGED: arguments of some calls are unreadable and "
			 "treated as unknown");
	return 0;
}

static inline int parse_once(const struct args *args)
{
	return !args || args->parsed ? 0 : parse_now(args);
}

int args_parse(const struct args *args)
{
	return parse_once(args);
}

const char *args_json(const struct args *args)
{
	if (!args)
		return NULL;
	return args->filled ? write_filled((struct args *)args) : args->json;
}

size_t args_size(const struct args *args)
{
	const char *json = args_json(args);

	return !json ? 0 : args->filled ? strlen(json) : args->size;
}

static inline const struct json_node *root_of(const struct args *args)
{
	return args && !parse_once(args) ? args->root : NULL;
}

const struct json_node *args_root(const struct args *args)
{
	return root_of(args);
}

const struct json_node *args_field(const struct args *args, const struct field_info *field)
{
	return json_find_member(args_root(args), field->name, strlen(field->name));
}

/* Names */

static const struct {
	enum arg parent;
	const char *name, *path;
	size_t length; /* length of the name */
} names[ARG_COUNT] = {
#define NAME(parent, path, name) [ARG(path)] = { ARG(parent), #name, #path, sizeof(#name) - 1 },
	ARG_TREE(NAME)
#undef NAME
};

const char *arg_path(enum arg arg)
{
	return names[arg].path;
}

const char *arg_name(enum arg arg)
{
	return names[arg].name;
}

static const struct json_node *search_tree(const struct args *args, enum arg arg, size_t index)
{
	const struct json_node *in = names[arg].parent == ARG_NONE
					     ? args_root(args)
					     : args_find_at(args, names[arg].parent, index);

	if (in && in->kind == JSON_ARRAY)
		in = json_find_element(in, index);
	return arg ? json_find_member(in, names[arg].name, names[arg].length) : NULL;
}

const struct json_node *args_find_at(const struct args *args, enum arg arg, size_t index)
{
	return index ? search_tree(args, arg, index) : args_find(args, arg);
}

/* an unset place is 0, this one says that the shape lacks the value; else index of the node + 1 */
enum { ABSENT = UINT16_MAX };

_Static_assert((int)ARG_COUNT <= (int)JSON_PLACES, "a place for each name");

const struct json_node *args_find(const struct args *args, enum arg arg)
{
	const struct json_node *root = root_of(args), *found;
	uint16_t place;

	if (!root || !args->shape)
		return search_tree(args, arg, 0);
	place = json_shape_place(args->shape, arg);
	if (place)
		return place == ABSENT ? NULL : root + (place - 1);
	found = search_tree(args, arg, 0);
	json_shape_set_place(args->shape, arg, found ? (uint16_t)(found - root + 1) : ABSENT);
	return found;
}

/* Values */

enum { ENUMERATORS = 1024 }; /* slots; there are some hundred enumerators */

/* All enumerators, hashed by name. Of several with one name only the first. NULL: a free slot. */
static const struct enum_value *enumerators[ENUMERATORS];
static pthread_once_t enumerators_filled = PTHREAD_ONCE_INIT;

/* The slot of @name, or the free slot for it. */
static const struct enum_value **enumerator_slot(const char *name)
{
	size_t at = hash_of(name, strlen(name), 0) % ENUMERATORS;

	while (enumerators[at] && strcmp(enumerators[at]->name, name))
		at = (at + 1) % ENUMERATORS;
	return &enumerators[at];
}

static void fill_enumerators(void)
{
	unsigned int n = 0;

	for (const struct enum_info *const *e = enum_infos; *e; e++)
		for (unsigned int i = 0; i < (*e)->nvalues; i++) {
			const struct enum_value **place = enumerator_slot((*e)->values[i].name);

			if (*place)
				continue;
			*place = &(*e)->values[i];
			n++;
			assert(n < ENUMERATORS);
		}
}

static bool find_enumerator(const char *name, int64_t *ret_value)
{
	const struct enum_value *found;

	pthread_once(&enumerators_filled, fill_enumerators);
	found = *enumerator_slot(name);
	if (found)
		*ret_value = found->value;
	return found;
}

bool args_value(const struct json_node *node, int64_t *ret_value)
{
	if (node && node->kind == JSON_INT) {
		*ret_value = node->number;
		return true;
	}
	return node && node->kind == JSON_TEXT && find_enumerator(node->text, ret_value);
}

bool args_get_at(const struct args *args, enum arg arg, size_t index, int64_t *ret_value)
{
	return args_value(args_find_at(args, arg, index), ret_value);
}

bool args_get(const struct args *args, enum arg arg, int64_t *ret_value)
{
	uint16_t place = args && args->root && args->shape ? json_shape_place(args->shape, arg) : 0;
	const struct json_node *node;

	/* usually it is known where this shape has the number */
	if (place == ABSENT)
		return false;
	node = place ? args->root + (place - 1) : NULL;
	if (node && node->kind == JSON_INT) {
		*ret_value = node->number;
		return true;
	}
	return args_get_at(args, arg, 0, ret_value);
}

uint64_t args_number(const struct args *args, enum arg arg)
{
	int64_t value;

	return args_get(args, arg, &value) ? (uint64_t)value : 0;
}

const char *args_text_at(const struct args *args, enum arg arg, size_t index)
{
	const struct json_node *node = args_find_at(args, arg, index);

	return node && node->kind == JSON_TEXT ? node->text : NULL;
}

const char *args_text(const struct args *args, enum arg arg)
{
	return args_text_at(args, arg, 0);
}
