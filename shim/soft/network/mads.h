#pragma once
/*
 * Management datagrams: what queue pair 1 sends and receives. Any thread.
 */
#include <netinet/in.h>
#include <stdint.h>

#include "shim/soft/network/network_qp.h"
#include "shim/soft/wire/mad.h"

/* To the machine at @to, while the engine runs. They may be lost. */
void mads_send(const struct in6_addr *to, const uint8_t mad[MAD_SIZE]);

/* A packet for queue pair 1. */
void mads_take(const struct arrival *arrival);

/* Who wants them: called in any thread, with the lock of the engine held; NULL: nobody. */
extern void (*mads_taker)(const struct in6_addr *from, const uint8_t mad[MAD_SIZE]);
