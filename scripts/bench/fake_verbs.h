#pragma once
/*
 * A libibverbs whose only device does nothing. Not thread-safe.
 */
#include <infiniband/verbs.h>

/* A context that was not opened, and so is unchanged. */
struct ibv_context *fake_context(void);

/* ibv_dealloc_pd() under a name that the recorder does not know. */
int fake_dealloc_pd(struct ibv_pd *pd);

/* What ibv_poll_cq() returns from now on; no completion is written. */
extern int fake_returns;
