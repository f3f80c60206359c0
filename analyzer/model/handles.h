#pragma once
/*
 * Where the arguments of each verb name an object.
 *
 * Made from the lists, so a verb that is added to them is known here, too. Not here: arrays of
 * handles. There is only one, ibv_rwq_ind_table_init_attr.ind_tbl: control.c. Constant; any thread.
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

/* Of what goes in. */
const struct handle_list *handles_given(enum verb verb);

/* Of a new object's fields: "ret.pd". */
const struct handle_list *handles_made(enum object_kind kind);

/* The argument that @verb acts on; ARG_NONE if there is none. */
enum arg handles_self(enum verb verb);
