#pragma once
/*
 * Where the arguments of each verb name an object, by path.
 *
 * Made from the descriptors of core/wire/desc.h, so a verb that is added to the
 * list is known here, too. Constant once made; any thread.
 */
#include "core/wire/desc.h"

enum { HANDLE_PATH = 64 };

struct handle_path {
	char path[HANDLE_PATH]; /* "qp_init_attr.send_cq"; for args_get() */
	enum object_kind kind;
};

struct handle_list {
	unsigned int n;
	struct handle_path *paths;
};

struct handles {
	struct handle_list args[VERB_COUNT];   /* of what goes in */
	struct handle_list made[OBJECT_COUNT]; /* of a new object's fields: "ret.pd" */
};

/* Returns 0 or -ENOMEM. */
int handles_init(struct handles *handles);
void handles_fini(struct handles *handles);

/* The name of the argument that @verb acts on: "qp"; NULL if there is none. */
const char *handles_self(enum verb verb);
