#pragma once
/*
 * The arguments of a call, or its results: JSON text (written by args_json.h),
 * parsed once, on first use.
 *
 * One thread until it is parsed, any thread afterwards. NULL stands for arguments
 * that the trace does not have: none of them is known.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/json_tree.h"

struct args;

/* Copies @json, @n bytes. NULL without memory. One reference, the caller's. */
struct args *args_new(const char *json, size_t n);

/* Take a reference, and return it; drop one. Both accept NULL. */
struct args *args_ref(struct args *args);
void args_unref(struct args *args);

/*
 * Parse it unless that was done; the functions below do so, too, and find nothing
 * if it fails. Text that is not JSON is damage that concerns this call only: none
 * of its values is known. Returns 0; or -ENOMEM, and the next call tries again.
 */
int args_parse(const struct args *args);

/* Its JSON text, NULL for NULL; and the bytes of it, 0 for NULL. */
const char *args_json(const struct args *args);
size_t args_size(const struct args *args);

/* The object of all arguments; NULL if none is known. */
const struct json_node *args_root(const struct args *args);

/* The member @name of that object, or NULL. */
const struct json_node *args_member(const struct args *args, const char *name);

/*
 * Values by path: "attr.qp_state", "sg_list[0].lkey", "ret.qp_num". The name of an
 * enumerator gives its value. False, or NULL, if there is no value of that type.
 */
bool args_get(const struct args *args, const char *path, int64_t *ret_value);
uint64_t args_number(const struct args *args, const char *path); /* 0 where there is none */
const char *args_text(const struct args *args, const char *path);
