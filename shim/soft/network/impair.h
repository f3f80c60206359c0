#pragma once
/*
 * Imitation of a bad link (latency_model()). Any thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* Load the model of the link. */
void impair_load(void);
bool impair_is_active(void);

/* Send one packet: now, later, twice or never, as the model decides. */
void impair_send(const struct msghdr *msg);

/* Send the packets whose time has come. Returns the time of the next one, ns, or UINT64_MAX. */
uint64_t impair_release(uint64_t now);

/* Send all packets that wait: no more packets follow. */
void impair_clear(void);
