/*
 * Protection domains
 */
#include "shim/soft/verbs/pd.h"

#include <stdlib.h>

#include "shim/soft/fabric/profile.h"
#include "shim/soft/verbs/domain.h"
#include "shim/soft/verbs/enter.h"

static struct soft_pd *all;
static unsigned int count; /* number of objects, not of structures */

struct soft_pd *pd_find(struct ibv_context *context, uint32_t handle)
{
	struct soft_pd *pd;

	for (pd = all; pd; pd = pd->next)
		if (pd->pd.handle == handle && handle && context_same_file(pd->pd.context, context))
			break;
	return pd;
}

void pd_add(struct soft_pd *pd)
{
	pd->next = all;
	all = pd;
}

void pd_del(struct soft_pd *pd)
{
	struct soft_pd **p;

	for (p = &all; *p; p = &(*p)->next)
		if (*p == pd) {
			*p = pd->next;
			return;
		}
}

static int add_object(struct soft_pd *pd)
{
	int err = 0;

	pthread_mutex_lock(&soft_mutex);
	if (count < (unsigned int)profile_limits()->max_pd) {
		count++;
		pd_add(pd);
	} else {
		err = ENOMEM;
	}
	pthread_mutex_unlock(&soft_mutex);
	return err;
}

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct soft_pd *pd;
	int err;

	err = soft_enter(context, "alloc_pd");
	if (err)
		return soft_fail(err);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return soft_fail(ENOMEM);
	pd->pd.context = context;
	pd->pd.handle = soft_serial();
	soft_twin_init(&pd->twin);
	err = add_object(pd);
	if (err) {
		free(pd);
		return soft_fail(err);
	}
	return &pd->pd;
}

static bool is_busy(const struct soft_pd *pd)
{
	const struct soft_twin *t = &pd->twin;
	const struct soft_pd *twin;

	do {
		twin = container(t, const struct soft_pd, twin);
		if (__atomic_load_n(&twin->refs, __ATOMIC_ACQUIRE))
			return true;
		t = t->next;
	} while (t != &pd->twin);
	return false;
}

/* Destroy the object. The structures that the program still has get the number 0. */
static void destroy_pd(struct soft_pd *pd)
{
	struct soft_twin *t = &pd->twin;
	struct soft_pd *left;

	do {
		container(t, struct soft_pd, twin)->pd.handle = 0;
		t = t->next;
	} while (t != &pd->twin);
	while ((t = soft_twin_take_left(&pd->twin))) {
		left = container(t, struct soft_pd, twin);
		pd_del(left);
		free(left);
	}
	count--;
}

static int free_pd(struct soft_pd *pd)
{
	if (!pd->pd.handle)
		return ENOENT;
	if (is_busy(pd))
		return EBUSY;
	if (pd->parent) {
		domain_drop(pd);
		return 0;
	}
	destroy_pd(pd);
	soft_twin_unlink(&pd->twin);
	pd_del(pd);
	return 0;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *ibpd)
{
	struct soft_pd *pd = to_pd(ibpd);
	int err;

	err = soft_enter(ibpd->context, "dealloc_pd");
	if (err)
		return err;
	pthread_mutex_lock(&soft_mutex);
	err = free_pd(pd);
	pthread_mutex_unlock(&soft_mutex);
	if (!err)
		free(pd);
	return err;
}

void pd_close_all(struct ibv_context *context)
{
	struct soft_pd **p = &all, *pd;

	pthread_mutex_lock(&soft_mutex);
	while ((pd = *p)) {
		if (pd->pd.context != context) {
			p = &pd->next;
			continue;
		}
		*p = pd->next;
		if (pd->pd.handle && soft_twin_is_alone(&pd->twin))
			destroy_pd(pd);
		soft_twin_unlink(&pd->twin);
		if (pd->twin.left)
			free(pd);
	}
	pthread_mutex_unlock(&soft_mutex);
}

/* In a child: forget inherited domains. */
void pd_forget(void)
{
	all = NULL;
	count = 0;
}
