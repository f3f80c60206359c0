#pragma once
/*
 * Automatic path migration. The caller holds the lock of the send queue.
 */
#include "shim/soft/transport/objects.h"

/* The program sets @state; its alternate path was already checked. */
void migrate_set(struct soft_qp *qp, enum ibv_mig_state state);

/*
 * The current path gives no answer: migrate to the alternate one. Returns whether that was
 * possible.
 */
bool migrate_away(struct soft_qp *qp);

/* A peer may have migrated: then use the alternate path, too. */
void migrate_follow(struct soft_qp *qp);
