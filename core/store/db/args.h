#pragma once
/*
 * The arguments of a call, or what came out of it: a text of JSON (args_json.h
 * writes it), which is parsed once, when it is first asked for.
 *
 * Whoever parses it has it alone; once it is parsed, any thread may ask. NULL is
 * what a trace does not have: nothing of it is known.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/json_tree.h"

struct args;

/* Copies @json, @n bytes. NULL without memory. One reference, the caller's. */
struct args *args_new(const char *json, size_t n);

/* One reference more, which is returned; one less. Both accept NULL. */
struct args *args_ref(struct args *args);
void args_unref(struct args *args);

/*
 * Parse it, if that was not done: everything below does so, too, and finds
 * nothing where it fails. What is no JSON is damaged, and costs its call only:
 * no value of it is known. Returns 0, or -ENOMEM, and the next call tries again.
 */
int args_parse(const struct args *args);

/* The text; NULL for NULL. */
const char *args_json(const struct args *args);
size_t args_size(const struct args *args);

/* The object with all of them; NULL where none is known. */
const struct json_node *args_root(const struct args *args);

/* The member of that name of the object with all of them, or NULL. */
const struct json_node *args_member(const struct args *args, const char *name);

/*
 * Values by path: "attr.qp_state", "sg_list[0].lkey", "ret.qp_num". Numbers as
 * they are; an enumerator gives its value. False, or NULL, where there is none,
 * or none of that type.
 */
bool args_get(const struct args *args, const char *path, int64_t *ret_value);
const char *args_text(const struct args *args, const char *path);
