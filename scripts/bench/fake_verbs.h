#pragma once
/*
 * A libibverbs whose only device does nothing. One thread.
 */
#include <infiniband/verbs.h>

/* A context that nobody has opened, and so nobody has changed. */
struct ibv_context *fake_context(void);

/* ibv_dealloc_pd() by a name that no recorder knows. */
int fake_dealloc_pd(struct ibv_pd *pd);

/* What ibv_poll_cq() returns from now on; no completion is written. */
extern int fake_returns;
