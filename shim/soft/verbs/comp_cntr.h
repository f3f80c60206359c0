#pragma once
/*
 * Completion counters of this process.
 */
#include "shim/soft/transport/objects.h"

/* The queue pair will be destroyed, and so are its attachments; with the object mutex held. */
void comp_cntr_detach(struct soft_qp *qp);

void comp_cntr_close_all(struct ibv_context *context);

/* In a child. */
void comp_cntr_forget(void);
