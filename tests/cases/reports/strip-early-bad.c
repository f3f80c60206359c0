/*
 * A client sends its last message and destroys its queue pair by rdma_destroy_qp().
 *
 * Bad: it does not wait until the message was sent.
 */
#define STRIPS 1
#include "hang-up-early-bad.c"
