#pragma once
/*
 * Values of a call's JSON, by path: "attr.qp_state", "sg_list[0].lkey",
 * "ret.qp_num". Numbers as they are; an enumerator gives its value.
 * Return false if it is not there or not of that type.
 */
#include <stdbool.h>
#include <stdint.h>

struct args;

int args_parse(const char *json, struct args **ret_args);
void args_free(struct args *args);
bool args_get(const struct args *args, const char *path, int64_t *ret_value);
const char *args_text(const struct args *args, const char *path);
