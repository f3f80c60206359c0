#pragma once
/*
 * Automatic path migration. The caller holds the lock of the send queue.
 */
#include "shim/soft/transport/objects.h"

/* The program sets @state; its alternate path was checked. */
void migrate_set(struct soft_qp *qp, enum ibv_mig_state state);

/* There is no answer on this path: migrate to the alternate one, if possible. */
bool migrate_away(struct soft_qp *qp);

/* A peer may have caused a migration: then use the alternate path. */
void migrate_follow(struct soft_qp *qp);
