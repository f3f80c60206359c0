#pragma once
/*
 * Posts that a fault may make fail. Any thread.
 */
#include <infiniband/verbs.h>

#include "shim/trace/faults/plan.h"

/*
 * Replace the functions of @ops that post; the replacements inject faults. @behind gets the
 * provider's functions. Callers hold recording_lock().
 */
void posts_patch(struct ibv_context_ops *ops, struct ibv_context_ops *behind);

/* Record that a request of @qpn is refused. Returns the errno. */
int posts_refuse(const struct planned_fault *planned, uint32_t qpn);

/* Record that a request of @qpn gets another status than the device's; that it is delayed. */
void posts_note_status(const struct planned_fault *planned, uint32_t qpn);
void posts_note_delay(const struct planned_fault *planned, uint32_t qpn);

/* Sum of the lengths of the elements, at least 1. */
uint32_t posts_bytes(const struct ibv_sge *sges, int n);

/* End the librdmacm connection of @qp, if it has one, and record that. */
void posts_disconnect(const struct planned_fault *planned, struct ibv_qp *qp);
