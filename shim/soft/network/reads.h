#pragma once
/*
 * The reads that a responder must answer, in order. Callers hold the lock of the engine.
 */
#include "shim/soft/network/network_qp.h"

/* May another read be added? The queue pair accepts a limited number. */
bool reads_has_room(const struct network_qp *n);
/* Add a read; false if there is no space. */
bool reads_add(struct network_qp *n, const struct network_read *read);

struct network_read *reads_first(struct network_qp *n);
/* The first read has been answered: remove it. */
void reads_remove_first(struct network_qp *n);

/* The number of packets of the answers to all reads. */
uint32_t reads_packets(const struct network_qp *n);

/* Is a read from another end than @end in the list? */
bool reads_has_other_end(const struct network_qp *n, const struct soft_remote *end);
