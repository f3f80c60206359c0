#pragma once
/*
 * What the ports count, as the kernel shows it in ports/N/counters and hw_counters: the names are
 * those of mlx5. Any thread.
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

/* "hw_counters/local_ack_timeout_err" */
extern const char *const port_counter_names[PORT_COUNTERS];

/*
 * Count one event. Not for the fast path. Without VERBATIM_SOFT_COUNTERS, or where that directory
 * cannot be written, nothing is counted.
 */
void port_counters_add(uint32_t port, enum port_counter counter);

/* Create the files of all ports, with the value 0, unless they exist. No malloc(). */
void port_counters_publish(void);

/*
 * The path of the file that has the value; false: it is not counted, or the path does not fit. No
 * malloc().
 */
bool port_counters_path(uint32_t port, enum port_counter counter, char *path, size_t size);
