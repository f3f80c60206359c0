/*
 * The functions behind those that make faults
 */
#include "shim/trace/faults/behind.h"

#include "shim/trace/base/permit.h"

_Atomic(void *) behind_verbs[VERB_COUNT];

const struct behind_context *behind_context(const struct ibv_context *context)
{
	return known_find(context, KNOWN_FAULTY_CONTEXT);
}

void *behind_add_object(const void *object, enum known_kind kind, size_t bytes)
{
	struct known *known = known_find(object, kind);

	if (known)
		return known;
	known = permit_alloc(1, bytes);
	if (known)
		known_add(known, object, kind);
	return known;
}

struct behind_context *behind_add(const struct ibv_context *context)
{
	return behind_add_object(context, KNOWN_FAULTY_CONTEXT, sizeof(struct behind_context));
}
