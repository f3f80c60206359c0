#pragma once
/*
 * The arguments of a call, or its results: JSON text (written by args_json.h), parsed once, on
 * first use; or only the values of such a text, from a block of calls.
 *
 * Not thread-safe until it is parsed, thread-safe afterwards. NULL: the trace does not have the
 * arguments, so none of them is known.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/json_tree.h"
#include "core/wire/desc.h"
#include "gen/args_gen.h"

struct args;

/* Copies @n bytes of @json. NULL if out of memory. The caller gets the only reference. */
struct args *args_new(const char *json, size_t n);

/*
 * The same for the arguments of @verb, or its results: parsing is faster if they have the same
 * shape as those of the previous call.
 */
enum args_side { ARGS_IN, ARGS_OUT };
struct args *args_new_of(enum verb verb, enum args_side side, const char *json, size_t n);

/*
 * Arguments that are filled from the values of their holes, without JSON: that is written only when
 * args_json() is called. A form is learned from the first call that has it, and may be freed before
 * the arguments. args_form_new() returns NULL if there is no form; args_fill() if the form cannot
 * have these values; both if out of memory. Then the JSON must be parsed.
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
 * Parse the text, unless it is parsed already. The functions below call this, and find nothing if
 * it fails. A text that is not JSON is damage to this call only: all its values are unknown.
 * Returns 0; or -ENOMEM, and the next call tries again.
 */
int args_parse(const struct args *args);

/* The JSON text of @args, NULL for NULL; and its length in bytes, 0 for NULL. */
const char *args_json(const struct args *args);
size_t args_size(const struct args *args);

/* The JSON object with all arguments; NULL if none is known. */
const struct json_node *args_root(const struct args *args);

/*
 * The arguments and results of all verbs, from the lists: ARG(attr.qp_state), ARG(ret). A member of
 * an array element or of a pointer's target is named without index: ARG(entries.gid.raw). A name
 * that no verb has does not compile.
 */
enum arg { ARG_NONE, ARG_COUNT = sizeof(struct arg_tree) };
#define ARG(path) ((enum arg)offsetof(struct arg_tree, path))

/* A member of @of, or of its extended twin: ARG_EX(ex, qp_init_attr, cap.max_send_wr). */
#define ARG_EX(is_ex, of, member) ((is_ex) ? ARG(of##_ex.member) : ARG(of.member))

/* "attr.qp_state", and its last part, "qp_state"; NULL for ARG_NONE. */
const char *arg_path(enum arg arg);
const char *arg_name(enum arg arg);

/* The value of an argument, or NULL; args_find_at(): its value in array element @index. */
const struct json_node *args_find(const struct args *args, enum arg arg);
const struct json_node *args_find_at(const struct args *args, enum arg arg, size_t index);

/*
 * Values as numbers and as text. The name of an enumerator gives its value. False, or NULL, if
 * there is no value of that type.
 */
bool args_get(const struct args *args, enum arg arg, int64_t *ret_value);
bool args_get_at(const struct args *args, enum arg arg, size_t index, int64_t *ret_value);
uint64_t args_number(const struct args *args, enum arg arg); /* 0 if it has no value */
const char *args_text(const struct args *args, enum arg arg);
const char *args_text_at(const struct args *args, enum arg arg, size_t index);

/* The value of @node as a number, as args_get() returns it. */
bool args_value(const struct json_node *node, int64_t *ret_value);

/* The value of the verb's argument described by @field, or NULL. */
const struct json_node *args_field(const struct args *args, const struct field_info *field);
