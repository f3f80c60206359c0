#pragma once
/*
 * Completion counters of this process.
 */
#include "shim/soft/transport/objects.h"

/* The queue pair will be destroyed: end its attachments. Callers hold the object mutex. */
void comp_cntr_detach(struct soft_qp *qp);

void comp_cntr_close_all(struct ibv_context *context);

/* In a child: forget inherited counters. */
void comp_cntr_forget(void);
