#pragma once
/*
 * How the two replays of a pair find each other: one listens, the other one connects.
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

/* Where the other end of a connection is, for a message. */
enum { MEET_NAME = 64 };

/* A socket that listens at @at, whose port is told, or -errno after log_err(). */
int meet_listen(const struct meet_address *at);

/* Who connects to that next, a socket: or -errno, without a word. Does not wait. */
int meet_accept(int listener, char ret_name[MEET_NAME]);

/*
 * A socket that is connected to who listens at @at, tried until @deadline (CLOCK_MONOTONIC, ns).
 * @ended is asked from time to time. 0 or -errno after log_err(); -ECANCELED without it.
 */
int meet_connect(const struct meet_address *at, int64_t deadline, bool (*ended)(void), int *ret_fd);
