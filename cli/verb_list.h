#pragma once
/* Lists of verbs that the user gives. Any thread. */
#include <stdbool.h>

#include "core/wire/desc.h"

struct verb_list {
	bool given; /* the user named some; else all are selected */
	bool has[VERB_COUNT];
};

/*
 * Add the verbs of @names, separated by commas or plus signs, each with or without ibv_. Returns 0;
 * or -EINVAL with @complaint (256) set.
 */
int verb_list_add(struct verb_list *list, const char *names, char *complaint);
