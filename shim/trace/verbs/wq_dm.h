#pragma once
/*
 * The function pointers in a work queue and in device memory.
 *
 * These functions replace them in a new object. Any thread. They return 0; or -ENOSPC if providers
 * have more functions than there are replacements: then the pointers are unchanged.
 */
#include <infiniband/verbs.h>

int wq_patch(struct ibv_wq *wq);
int dm_patch(struct ibv_dm *dm);
