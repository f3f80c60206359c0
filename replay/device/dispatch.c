/*
 * Calling a control verb by its number
 *
 * The calls are generated from the list of verbs. A verb of struct verbs_context that the device
 * lacks fails with EOPNOTSUPP, as its inline function would.
 */
#include "replay/device/dispatch.h"

#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "gen/later_gen.h"

/* exported for providers and declared only in their header */
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

static int64_t fail_unsupported(enum verb verb)
{
	errno = EOPNOTSUPP;
	switch (verb_infos[verb].fail) {
	case FAIL_NULL:
		return 0;
	case FAIL_NEGATIVE:
		return -EOPNOTSUPP;
	default:
		return EOPNOTSUPP;
	}
}

#define vctx_call(ctx, slot, ...)                                          \
	({                                                                 \
		struct verbs_context *vctx_ = verbs_get_ctx_op(ctx, slot); \
		if (!vctx_)                                                \
			return fail_unsupported(verb);                     \
		vctx_->slot(__VA_ARGS__);                                  \
	})

/* Call a verb that the installed library may lack, since the library is older. */
#define later_call(type, symbol, ...)                            \
	({                                                       \
		type next_ = (type)dlsym(RTLD_DEFAULT, #symbol); \
		if (!next_)                                      \
			return fail_unsupported(verb);           \
		next_(__VA_ARGS__);                              \
	})

static bool (*through)(enum verb verb, const uint64_t *args, int64_t *ret);

void dispatch_set_route(bool (*route)(enum verb verb, const uint64_t *args, int64_t *ret))
{
	through = route;
}

int64_t dispatch_call(enum verb verb, const uint64_t *a)
{
	int64_t ret;

	errno = 0;
	if (through && through(verb, a, &ret))
		return ret;
	switch (verb) {
#include "gen/dispatch_gen.h"
	default:
		return -EOPNOTSUPP;
	}
}

int dispatch_destroyer(enum object_kind kind)
{
	for (int v = 0; v < VERB_COUNT; v++)
		if (verb_infos[v].effect == EFFECT_DESTROY && verb_infos[v].object == kind &&
		    verb_infos[v].via != VIA_DV && !strstr(verb_infos[v].name, "unimport"))
			return v;
	return -1;
}

void dispatch_undo(enum verb verb, int64_t ret)
{
	uint64_t args[16] = { (uint64_t)ret };
	int destroyer = dispatch_destroyer(verb_infos[verb].object);

	if (destroyer >= 0)
		dispatch_call((enum verb)destroyer, args);
}

static unsigned int (*count_refused)(void); /* NULL: not the software device */

__attribute__((constructor)) static void find_count(void)
{
	count_refused = (unsigned int (*)(void))dlsym(RTLD_DEFAULT, "verbatim_soft_memory_refused");
}

unsigned int dispatch_refused(void)
{
	return count_refused ? count_refused() : 0;
}
