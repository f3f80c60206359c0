/*
 * Automatic path migration
 *
 *	MIGRATED --- program ---> REARM --- both ends are ---> ARMED
 *	    ^                                                    |
 *	    +--- program, or the path fails: both ends migrate --+
 *
 * The alternate path becomes the only one, and both ends are notified (PATH_MIG). PATH_MIG_ERR: the
 * alternate path reaches no port, or the peer is not ready to migrate; only the migrating end gets
 * it.
 *
 * Adapters use bits in packets for this; this device checks the peer at once when one end changes
 * its state. A peer's attributes are private to its process, so the peer migrates at its next check
 * (@migrations).
 *
 * Source: InfiniBand specification, 17.2.8.
 */
#include "shim/soft/transport/migrate.h"

#include "shim/soft/fabric/port.h"
#include "shim/soft/transport/deliver.h"
#include "shim/soft/transport/own_qp.h"
#include "shim/soft/transport/remote.h"

static void set_state(struct soft_qp *qp, enum ibv_mig_state state)
{
	__atomic_store_n(&qp->shm->mig_state, state, __ATOMIC_SEQ_CST);
}

static enum ibv_mig_state state_of(const struct soft_qp *qp)
{
	return __atomic_load_n(&qp->shm->mig_state, __ATOMIC_SEQ_CST);
}

/* Lock the peer of the connection; NULL: none. XRC connections have no path back. */
static struct soft_remote *lock_peer(struct soft_qp *qp)
{
	struct soft_remote *r;

	if (qp->shm->type != IBV_QPT_RC && qp->shm->type != IBV_QPT_UC)
		return NULL;
	r = remote_find(qp, NULL);
	return r && remote_lock(qp, r) ? r : NULL;
}

/* Each end sets REARM before it checks the other end, so at least one of them sees both. */
static void rearm_path(struct soft_qp *qp)
{
	struct soft_remote *r;

	set_state(qp, IBV_MIG_REARM);
	r = lock_peer(qp);
	if (!r)
		return;
	if (r->shm->mig_state != IBV_MIG_MIGRATED) {
		__atomic_store_n(&r->shm->mig_state, IBV_MIG_ARMED, __ATOMIC_SEQ_CST);
		set_state(qp, IBV_MIG_ARMED);
	}
	remote_unlock(r);
}

static void use_alternate_path(struct soft_qp *qp)
{
	struct ibv_qp_attr *attr = &qp->attr;

	attr->ah_attr = attr->alt_ah_attr;
	attr->pkey_index = attr->alt_pkey_index;
	attr->port_num = attr->alt_port_num;
	attr->timeout = attr->alt_timeout;
	qp->shm->port = attr->port_num;
	qp->shm->pkey = port_pkey(attr->port_num, attr->pkey_index);
	qp->reachable = port_reaches(&attr->ah_attr);
}

static void migrate_peer(struct soft_qp *qp)
{
	struct soft_remote *r = lock_peer(qp);
	int event = IBV_EVENT_PATH_MIG_ERR;

	if (!r)
		return;
	if (r->shm->mig_state == IBV_MIG_ARMED) {
		r->shm->mig_state = IBV_MIG_MIGRATED;
		__atomic_add_fetch(&r->shm->migrations, 1, __ATOMIC_RELEASE);
		event = IBV_EVENT_PATH_MIG;
	}
	deliver_notify(r, event);
	remote_unlock(r);
}

static bool migrate_both_ends(struct soft_qp *qp)
{
	if (!port_reaches(&qp->attr.alt_ah_attr)) {
		own_qp_notify(qp, IBV_EVENT_PATH_MIG_ERR);
		return false;
	}
	set_state(qp, IBV_MIG_MIGRATED);
	use_alternate_path(qp);
	own_qp_notify(qp, IBV_EVENT_PATH_MIG);
	migrate_peer(qp);
	return true;
}

void migrate_set(struct soft_qp *qp, enum ibv_mig_state state)
{
	switch (state) {
	case IBV_MIG_REARM:
		rearm_path(qp);
		break;
	case IBV_MIG_ARMED:
		set_state(qp, state);
		break;
	default:
		if (state_of(qp) == IBV_MIG_ARMED)
			migrate_both_ends(qp);
		else
			set_state(qp, state);
		break;
	}
}

bool migrate_away(struct soft_qp *qp)
{
	migrate_follow(qp);
	if (state_of(qp) != IBV_MIG_ARMED)
		return false;
	if (migrate_both_ends(qp))
		return true;
	set_state(qp, IBV_MIG_MIGRATED);
	return false;
}

void migrate_follow(struct soft_qp *qp)
{
	uint8_t migrations = __atomic_load_n(&qp->shm->migrations, __ATOMIC_ACQUIRE);

	if (likely(migrations == qp->migrations))
		return;
	qp->migrations = migrations;
	use_alternate_path(qp);
}
