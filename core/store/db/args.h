#pragma once
/*
 * The arguments of a call, or its results: JSON text (written by args_json.h), parsed once, on
 * first use; or the values of such a text, from a block of calls.
 *
 * Not thread-safe until it is parsed, thread-safe afterwards. NULL means that the trace does not
 * have the arguments: none of them is known.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/json_tree.h"
#include "core/wire/desc.h"
#include "gen/args_gen.h"

struct args;

/* Copies @json, @n bytes. NULL if out of memory. The caller owns the one reference. */
struct args *args_new(const char *json, size_t n);

/*
 * The same for the arguments of @verb, or its results: parsing is faster if they have the same
 * shape as those of the previous call.
 */
enum args_side { ARGS_IN, ARGS_OUT };
struct args *args_new_of(enum verb verb, enum args_side side, const char *json, size_t n);

/*
 * Arguments from the values of their holes, without JSON, which is written only if it is asked
 * for. A form is learned from the first call that has it, and may be freed before its arguments.
 * args_form_new() returns NULL if there is none, args_fill() also if it does not suit these values,
 * or if out of memory: then the JSON must be parsed.
 */
struct args_form;
struct call_holes; /* core/store/chunk/call_block.h */
struct args_form *args_form_new(const struct call_holes *holes);
void args_form_free(struct args_form *form); /* accepts NULL */
struct args *args_fill(const struct args_form *form, const struct call_holes *holes);

/* Take a reference, and return it; drop a reference. Both accept NULL. */
struct args *args_ref(struct args *args);
void args_unref(struct args *args);

/*
 * Parse the text, unless it is parsed; the functions below do so, too, and find nothing if parsing
 * fails. Text that is not JSON is damage to this call only: none of its values is known. Returns 0;
 * or -ENOMEM, and the next call tries again.
 */
int args_parse(const struct args *args);

/* The JSON text of @args, NULL for NULL; and its length, 0 for NULL. */
const char *args_json(const struct args *args);
size_t args_size(const struct args *args);

/* The object of all arguments; NULL if none is known. */
const struct json_node *args_root(const struct args *args);

/*
 * The names of all verbs' arguments and results, from the lists: ARG(attr.qp_state), ARG(ret).
 * Members inside an array or behind a pointer have the name of the type's member:
 * ARG(entries.gid.raw). A name that no verb has does not compile.
 */
enum arg { ARG_NONE, ARG_COUNT = sizeof(struct arg_tree) };
#define ARG(path) ((enum arg)offsetof(struct arg_tree, path))

/* A member of @of, or of its extended twin: ARG_EX(ex, qp_init_attr, cap.max_send_wr). */
#define ARG_EX(is_ex, of, member) ((is_ex) ? ARG(of##_ex.member) : ARG(of.member))

/* "attr.qp_state", and its last part, "qp_state"; NULL for ARG_NONE. */
const char *arg_path(enum arg arg);
const char *arg_name(enum arg arg);

/* The value of an argument, or NULL; with "at" that of array element @index. */
const struct json_node *args_find(const struct args *args, enum arg arg);
const struct json_node *args_find_at(const struct args *args, enum arg arg, size_t index);

/*
 * Values as numbers and as text. The name of an enumerator gives its value. False, or NULL, if
 * there is no value of that type.
 */
bool args_get(const struct args *args, enum arg arg, int64_t *ret_value);
bool args_get_at(const struct args *args, enum arg arg, size_t index, int64_t *ret_value);
uint64_t args_number(const struct args *args, enum arg arg); /* 0 if there is none */
const char *args_text(const struct args *args, enum arg arg);
const char *args_text_at(const struct args *args, enum arg arg, size_t index);

/* The same for a value that was found. */
bool args_value(const struct json_node *node, int64_t *ret_value);

/* The value of the verb's own argument @field, or NULL. */
const struct json_node *args_field(const struct args *args, const struct field_info *field);
