#pragma once
/*
 * Management datagrams, which queue pair 1 sends and receives. Any thread.
 */
#include <netinet/in.h>
#include <stdint.h>

#include "shim/soft/network/network_qp.h"
#include "shim/soft/wire/mad.h"

/* Send a datagram to the machine at @to; it may be lost. The engine must run. */
void mads_send(const struct in6_addr *to, const uint8_t mad[MAD_SIZE]);

/* A packet for queue pair 1 has arrived. */
void mads_take(const struct arrival *arrival);

/*
 * Called for each datagram, in any thread, while the lock of the engine is held; NULL: datagrams
 * are ignored.
 */
extern void (*mads_taker)(const struct in6_addr *from, const uint8_t mad[MAD_SIZE]);
