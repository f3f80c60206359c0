#pragma once
/*
 * The arguments of each verb that are objects.
 *
 * Generated from the lists, so new verbs are included. The only array of handles,
 * ibv_rwq_ind_table_init_attr.ind_tbl, is handled in control.c. Constant; any thread.
 */
#include "core/store/db/args.h"

struct handle {
	enum arg arg;
	enum object_kind kind;
};

struct handle_list {
	unsigned int n;
	const struct handle *handles;
};

/* The handles among the inputs. */
const struct handle_list *handles_of_inputs(enum verb verb);

/* The handles among the fields of a new object: "ret.pd". */
const struct handle_list *handles_of_new_object(enum object_kind kind);

/* The argument that @verb acts on; ARG_NONE if there is none. */
enum arg handles_find_acted_on(enum verb verb);
