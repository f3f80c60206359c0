/*
 * Fork support: the verbs for it
 *
 * The device works after a fork (context.c), so these verbs do nothing, as on kernels that copy
 * pinned pages on fork. With VERBATIM_SOFT_FORK=disabled or =enabled they behave as on older
 * kernels, where ibv_fork_init() fails after the first registration.
 */
#include "shim/soft/verbs/fork.h"

#include <stdlib.h>
#include <strings.h>

#include "shim/soft/transport/objects.h"
#include "shim/soft/verbs/enter.h"

static bool asked;

static enum ibv_fork_status requested_status(void)
{
	const char *value = getenv("VERBATIM_SOFT_FORK");

	if (value && !strcasecmp(value, "disabled"))
		return IBV_FORK_DISABLED;
	if (value && !strcasecmp(value, "enabled"))
		return IBV_FORK_ENABLED;
	return IBV_FORK_UNNEEDED;
}

static bool has_regions(void)
{
	unsigned int i;

	for (i = 0; i < SHM_MR_MAX; i++)
		if (soft_mrs[i])
			return true;
	return false;
}

EXPORT int ibv_fork_init(void)
{
	int err = 0;

	if (requested_status() == IBV_FORK_UNNEEDED)
		return 0;
	pthread_mutex_lock(&soft_mutex);
	if (!asked && has_regions())
		err = EINVAL;
	else
		asked = true;
	pthread_mutex_unlock(&soft_mutex);
	return err;
}

static enum ibv_fork_status fork_status(void)
{
	enum ibv_fork_status now = requested_status();

	return now == IBV_FORK_DISABLED && asked ? IBV_FORK_ENABLED : now;
}

EXPORT enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return fork_status();
}

bool fork_is_protected(void)
{
	return fork_status() == IBV_FORK_ENABLED;
}

/* Exported for drivers; this library never calls it. */
EXPORT int ibv_dontfork_range(void *base, size_t size);
EXPORT int ibv_dontfork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}

EXPORT int ibv_dofork_range(void *base, size_t size);
EXPORT int ibv_dofork_range(void *base, size_t size)
{
	(void)base;
	(void)size;
	return 0;
}
