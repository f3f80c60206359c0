/*
 * Where the arguments of each verb name an object: the tables that scripts/args_list.py makes
 */
#include "analyzer/model/handles.h"

#include "gen/handles_gen.h"

const struct handle_list *handles_given(enum verb verb)
{
	return &verb_handles[verb].given;
}

const struct handle_list *handles_made(enum object_kind kind)
{
	return &made_handles[kind];
}

enum arg handles_self(enum verb verb)
{
	return verb_handles[verb].self;
}
