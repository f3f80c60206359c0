#pragma once
/*
 * Counters of the ports, as the kernel shows them in ports/N/counters and hw_counters, with the
 * names of mlx5. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum port_counter {
	PORT_COUNTER_ACK_TIMEOUT, /* a request was sent again, since no response came in time */
	PORT_COUNTER_RNR,         /* the receiver was not ready: the RNR timer was started */
	PORT_COUNTER_LINK_DOWN,   /* the port went down */
	PORT_COUNTERS,
};

/* Path of a counter in the folder of its port, such as "hw_counters/local_ack_timeout_err". */
extern const char *const port_counter_names[PORT_COUNTERS];

/*
 * Count one event; too slow for the fast path. Does nothing without VERBATIM_SOFT_COUNTERS, or if
 * that directory cannot be written.
 */
void port_counters_add(uint32_t port, enum port_counter counter);

/* Create the files of all ports, with the value 0, unless they exist. No malloc(). */
void port_counters_publish(void);

/*
 * The path of the counter's file; false: the counter is disabled, or the path does not fit. No
 * malloc().
 */
bool port_counters_path(uint32_t port, enum port_counter counter, char *path, size_t size);
