#pragma once
/*
 * How the two replays of a pair find each other: one listens, the other one connects, once.
 */
#include <stdbool.h>
#include <stdint.h>

enum { MEET_HOST = 256, MEET_PORT = 8 };

/* "HOST:PORT", "[ADDRESS]:PORT", "PORT". */
struct meet_address {
	char host[MEET_HOST]; /* "": none was given */
	char port[MEET_PORT];
};

/* Returns 0 or -EINVAL; a host is needed unless @listen. */
int meet_parse(const char *text, bool listen, struct meet_address *ret_address);

/*
 * A connected socket, at the latest at @deadline (CLOCK_MONOTONIC, ns): the first who connects to
 * @at, or to who listens at @at, however long it takes him to do so. @ended is asked from time to
 * time. Nobody else can connect after that. 0 or -errno after log_err(); -ECANCELED without it.
 */
int meet_listen(const struct meet_address *at, int64_t deadline, bool (*ended)(void), int *ret_fd);
int meet_connect(const struct meet_address *at, int64_t deadline, bool (*ended)(void), int *ret_fd);
