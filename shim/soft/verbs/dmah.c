/*
 * Handles for DMA: hints about the processor cache for the data
 *
 * The hints are checked, but have no effect, since there is no bus. A handle is busy while a region
 * uses it.
 *
 * Source: ibv_alloc_dmah(3).
 */
#include <stdlib.h>
#include <unistd.h>

#include "shim/soft/verbs/newer.h"

enum {
	DMAH_CPU_ID = 1 << 0,
	DMAH_PH = 1 << 1,
	DMAH_TPH_MEM_TYPE = 1 << 2,
	PH_BITS = 3,
	MEM_TYPE_PM = 1,
};

static int check_attr(struct ibv_context *context, const struct soft_dmah_init_attr *attr)
{
	int err = soft_enter(context, "alloc_dmah");

	if (err)
		return err;
	if (attr->comp_mask & ~(DMAH_CPU_ID | DMAH_PH | DMAH_TPH_MEM_TYPE))
		return EOPNOTSUPP;
	if (attr->comp_mask & DMAH_CPU_ID && attr->cpu_id >= sysconf(_SC_NPROCESSORS_CONF))
		return EINVAL;
	if (attr->comp_mask & DMAH_PH && attr->ph > PH_BITS)
		return EINVAL;
	return attr->comp_mask & DMAH_TPH_MEM_TYPE && attr->tph_mem_type > MEM_TYPE_PM ? EINVAL : 0;
}

struct soft_dmah *soft_alloc_dmah(struct ibv_context *context, struct soft_dmah_init_attr *attr)
{
	int err = check_attr(context, attr);
	struct soft_dmah *dmah;

	if (err)
		return soft_fail(err);
	dmah = calloc(1, sizeof(*dmah));
	if (!dmah)
		return soft_fail(ENOMEM);
	dmah->context = context;
	return dmah;
}

int soft_dealloc_dmah(struct soft_dmah *dmah)
{
	int err = soft_enter(dmah->context, "dealloc_dmah");

	if (err)
		return err;
	if (__atomic_load_n(&dmah->refs, __ATOMIC_ACQUIRE))
		return EBUSY;
	free(dmah);
	return 0;
}
