#pragma once
/*
 * The function pointers in a work queue and in device memory.
 *
 * Replace them in a new object. Any thread. Return 0; -ENOSPC where there are
 * more functions of providers than of ours: then they stay.
 */
#include <infiniband/verbs.h>

int wq_patch(struct ibv_wq *wq);
int dm_patch(struct ibv_dm *dm);
