#pragma once
/* Verbs that the user names. Any thread. */
#include <stdbool.h>

#include "core/wire/desc.h"

struct verb_list {
	bool given; /* some were named; else all are meant */
	bool has[VERB_COUNT];
};

/*
 * Add the verbs that @names lists with commas or plus signs between, each with
 * or without its ibv_. Returns 0; or -EINVAL with @complaint (256) filled.
 */
int verb_list_add(struct verb_list *list, const char *names, char *complaint);
