#pragma once
/*
 * Posts that may be made to fail. Any thread.
 */
#include <infiniband/verbs.h>

#include "shim/trace/faults/plan.h"

/*
 * Replace the functions of @ops that post by ones that inject faults; @behind gets the provider's.
 * With recording_lock() held.
 */
void posts_patch(struct ibv_context_ops *ops, struct ibv_context_ops *behind);

/* Record that a request of @qpn is refused; returns the errno. */
int posts_refuse(const struct planned *planned, uint32_t qpn);

/* Record that a request of @qpn gets a status other than the device's, or is delayed. */
void posts_note_status(const struct planned *planned, uint32_t qpn);
void posts_note_delay(const struct planned *planned, uint32_t qpn);

/* Bytes of the elements, at least one. */
uint32_t posts_bytes(const struct ibv_sge *sges, int n);

/* End the connection of @qp by librdmacm, if it has one, and record that. */
void posts_disconnect(const struct planned *planned, struct ibv_qp *qp);
