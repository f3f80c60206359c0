#pragma once
/*
 * Emulates the kernel's RDMA netlink for the device: `rdma dev`, `rdma link`.
 *
 * Its socket is a NETLINK_USERSOCK, through which processes can send messages to each other: it
 * binds, receives and waits like any other socket. This module answers the messages that the
 * program sends to the kernel on it. Any thread.
 */
#include <stdbool.h>
#include <sys/types.h>

/* Do the arguments of socket() request an RDMA netlink socket? */
bool netlink_is_rdma(int domain, int protocol);

/* Note that @fd is an RDMA netlink socket. */
void netlink_note(int fd);

/* Is @fd an RDMA netlink socket? Fast if the program has opened none. */
bool netlink_is_ours(int fd);

/* Answer the requests of @len bytes. Returns @len, or -1 and errno. */
ssize_t netlink_send(int fd, const void *requests, size_t len);
