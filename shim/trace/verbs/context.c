/*
 * The recorder's data about a context
 */
#include "shim/trace/verbs/context.h"

#include <stdlib.h>

#include "shim/trace/base/permit.h"

struct context *context_find(const struct ibv_context *context)
{
	return known_find(context, KNOWN_CONTEXT);
}

struct context *context_get(const struct ibv_context *context)
{
	struct context *c = context_find(context);

	if (c)
		return c;
	c = permit_alloc(1, sizeof(*c));
	if (c)
		known_add(&c->known, context, KNOWN_CONTEXT);
	return c;
}

const struct context_next *context_next(const struct ibv_context *context)
{
	const struct context *c = context_find(context);

	return c ? &c->next : NULL;
}
