#pragma once
/*
 * Management datagrams, which queue pair 1 sends and receives. Any thread.
 */
#include <netinet/in.h>
#include <stdint.h>

#include "shim/soft/network/network_qp.h"
#include "shim/soft/wire/mad.h"

/* Send a datagram to the machine at @to, while the engine runs. It may be lost. */
void mads_send(const struct in6_addr *to, const uint8_t mad[MAD_SIZE]);

/* Called for a packet for queue pair 1. */
void mads_take(const struct arrival *arrival);

/* Called for each datagram, in any thread, with the lock of the engine held; NULL: ignored. */
extern void (*mads_taker)(const struct in6_addr *from, const uint8_t mad[MAD_SIZE]);
