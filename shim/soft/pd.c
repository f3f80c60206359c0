/*
 * Protection domains and address handles
 */
#include "shim/soft/soft.h"

#include <stdlib.h>

#include "shim/soft/port.h"

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
	return &pd->pd;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *ibpd)
{
	struct soft_pd *pd = to_pd(ibpd);
	int err;

	err = soft_enter(ibpd->context, "dealloc_pd");
	if (err)
		return err;
	if (__atomic_load_n(&pd->refs, __ATOMIC_ACQUIRE))
		return EBUSY;
	free(pd);
	return 0;
}

EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct soft_ah *ah;
	int err;

	err = soft_enter(pd->context, "create_ah");
	if (err)
		return soft_fail(err);
	if (attr->port_num != 1 || (port_is_roce() && !attr->is_global))
		return soft_fail(EINVAL);
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return soft_fail(ENOMEM);
	ah->ah.context = pd->context;
	ah->ah.pd = pd;
	ah->ah.handle = soft_serial();
	ah->attr = *attr;
	__atomic_add_fetch(&to_pd(pd)->refs, 1, __ATOMIC_RELAXED);
	return &ah->ah;
}

EXPORT int ibv_destroy_ah(struct ibv_ah *ibah)
{
	struct soft_ah *ah = container(ibah, struct soft_ah, ah);
	int err;

	err = soft_enter(ibah->context, "destroy_ah");
	if (err)
		return err;
	__atomic_sub_fetch(&to_pd(ibah->pd)->refs, 1, __ATOMIC_RELEASE);
	free(ah);
	return 0;
}
