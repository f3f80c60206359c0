#pragma once
/*
 * The reads that a responder must answer, in order. With the lock of the engine held.
 */
#include "shim/soft/network/network_qp.h"

/* May another one be added? The queue pair accepts a number of them. */
bool reads_has_room(const struct network_qp *n);
/* False if there is no room. */
bool reads_add(struct network_qp *n, const struct network_read *read);

struct network_read *reads_first(struct network_qp *n);
/* The first one is answered. */
void reads_end(struct network_qp *n);

/* The number of packets of all answers. */
uint32_t reads_packets(const struct network_qp *n);

/* Is one from another end than @end? */
bool reads_elsewhere(const struct network_qp *n, const struct soft_remote *end);
