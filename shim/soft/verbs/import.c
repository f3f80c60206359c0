/*
 * Imports: one object under several pointers
 *
 * The command file of a context is a memory file: the inode of a duplicate descriptor identifies
 * the context. Contexts of the same file see each other's objects by their numbers. An object lives
 * until it is destroyed through any of its pointers, or until the last of these contexts is closed.
 *
 * In another process, importing fails with EOPNOTSUPP: the memory, queues and keys of a context
 * belong to the process that opened the device.
 *
 * Source: ibv_import_device(3), ibv_import_pd(3), ibv_import_mr(3), ibv_import_dm(3).
 */
#include <stdlib.h>

#include "shim/soft/verbs/dm.h"
#include "shim/soft/verbs/domain.h"
#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/mr.h"
#include "shim/soft/verbs/pd.h"

static struct soft_pd *import_pd(struct ibv_context *context, uint32_t handle)
{
	struct soft_pd *known = pd_find(context, handle);
	struct soft_pd *pd;

	if (!known)
		return soft_fail(ENOENT);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return soft_fail(ENOMEM);
	pd->pd.context = context;
	pd->pd.handle = handle;
	soft_twin_join(&pd->twin, &known->twin);
	pd_add(pd);
	return pd;
}

EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	struct soft_pd *pd;
	int err;

	err = soft_enter(context, "import_pd");
	if (err)
		return soft_fail(err);
	pthread_mutex_lock(&soft_mutex);
	pd = import_pd(context, pd_handle);
	pthread_mutex_unlock(&soft_mutex);
	return pd ? &pd->pd : NULL;
}

/*
 * Unlink a structure from the ring. True if it can be freed: the object has another structure, or
 * was destroyed.
 */
static bool unlink_twin(struct soft_twin *twin, bool alive, bool busy)
{
	if (busy || (alive && soft_twin_is_alone(twin))) {
		twin->left = true;
		return false;
	}
	soft_twin_unlink(twin);
	return true;
}

EXPORT void ibv_unimport_pd(struct ibv_pd *ibpd)
{
	struct soft_pd *pd = to_pd(ibpd);
	bool gone;

	if (!soft_ours(ibpd->context) || domain_is_parent(ibpd))
		return;
	pthread_mutex_lock(&soft_mutex);
	gone = unlink_twin(&pd->twin, ibpd->handle, __atomic_load_n(&pd->refs, __ATOMIC_ACQUIRE));
	if (gone)
		pd_del(pd);
	pthread_mutex_unlock(&soft_mutex);
	if (gone)
		free(pd);
}

static struct soft_mr *import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct soft_mr *known = handle < SHM_MR_MAX ? soft_mrs[handle] : NULL;
	struct soft_mr *mr;

	if (!known || !context_same_file(known->mr.context, pd->context))
		return soft_fail(ENOENT);
	mr = malloc(sizeof(*mr));
	if (!mr)
		return soft_fail(ENOMEM);
	*mr = *known;
	mr->mr.context = pd->context;
	mr->mr.pd = pd;
	mr->mr.addr = NULL;
	mr->imported = true;
	mr->twin.left = false;
	soft_twin_join(&mr->twin, &known->twin);
	return mr;
}

EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	struct soft_mr *mr;
	int err;

	err = soft_enter(pd->context, "import_mr");
	if (err)
		return soft_fail(err);
	pthread_mutex_lock(&soft_mutex);
	mr = import_mr(pd, mr_handle);
	pthread_mutex_unlock(&soft_mutex);
	return mr ? &mr->mr : NULL;
}

EXPORT void ibv_unimport_mr(struct ibv_mr *ibmr)
{
	struct soft_mr *mr = to_mr(ibmr), *other;
	bool gone;

	if (!soft_ours(ibmr->context))
		return;
	pthread_mutex_lock(&soft_mutex);
	other = container(mr->twin.next, struct soft_mr, twin);
	gone = unlink_twin(&mr->twin, mr->shm, false);
	if (gone && mr->shm)
		mr_replace_slot(mr, other);
	pthread_mutex_unlock(&soft_mutex);
	if (gone)
		free(mr);
}

static struct soft_dm *import_dm(struct ibv_context *context, uint32_t handle)
{
	struct soft_dm *known = dm_find(context, handle);
	struct soft_dm *dm;

	if (!known)
		return soft_fail(ENOENT);
	dm = dm_new(context, known->memory, known->length, handle);
	if (!dm)
		return soft_fail(ENOMEM);
	soft_twin_join(&dm->twin, &known->twin);
	dm_add(dm);
	return dm;
}

EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	struct soft_dm *dm;
	int err;

	err = soft_enter(context, "import_dm");
	if (err)
		return soft_fail(err);
	pthread_mutex_lock(&soft_mutex);
	dm = import_dm(context, dm_handle);
	pthread_mutex_unlock(&soft_mutex);
	return dm ? &dm->dm : NULL;
}

EXPORT void ibv_unimport_dm(struct ibv_dm *ibdm)
{
	struct soft_dm *dm = to_dm(ibdm);
	bool gone;

	if (!soft_ours(ibdm->context))
		return;
	pthread_mutex_lock(&soft_mutex);
	gone = unlink_twin(&dm->twin, dm->memory, dm->refs);
	if (gone)
		dm_del(dm);
	pthread_mutex_unlock(&soft_mutex);
	if (gone)
		free(dm);
}
