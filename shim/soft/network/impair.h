#pragma once
/*
 * Packets on a link that is bad (latency_model()). Any thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* Take the model. */
void impair_load(void);
bool impair_is_active(void);

/* Send one packet, now, later, twice or never. */
void impair_send(const struct msghdr *msg);

/* Send the packets that are due. Returns when the next one is, ns, or UINT64_MAX. */
uint64_t impair_release(uint64_t now);

/* Drop all. */
void impair_clear(void);
