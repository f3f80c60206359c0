#pragma once
/* Connects the two replays of a pair: one replay listens, the other connects. */
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

/* The address of the other end of a connection, for a message. */
enum { MEET_NAME = 64 };

/* A socket that listens at @at, and prints its port; or -errno after log_err(). */
int meet_listen(const struct meet_address *at);

/* The next connection, a socket; or -errno, without a message. Does not wait. */
int meet_accept(int listener, char ret_name[MEET_NAME]);

/*
 * A socket that is connected to the listener at @at, tried until @deadline (CLOCK_MONOTONIC, ns).
 * @ended is called from time to time. 0 or -errno after log_err(); -ECANCELED without a message.
 */
int meet_connect(const struct meet_address *at, int64_t deadline, bool (*ended)(void), int *ret_fd);
