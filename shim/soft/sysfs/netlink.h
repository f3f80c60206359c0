#pragma once
/*
 * Emulates the kernel's RDMA netlink for the device: `rdma dev`, `rdma link`.
 *
 * A socket for it is a NETLINK_USERSOCK, through which processes can send to each other: it binds,
 * receives and waits like any other. Messages to the kernel on it are answered by this module. Any
 * thread.
 */
#include <stdbool.h>
#include <sys/types.h>

/* Is it an RDMA socket? */
bool netlink_is_rdma(int domain, int protocol);

/* Remember that @fd is such a socket. */
void netlink_note(int fd);

/* Is it such a socket? Fast if no program has opened any. */
bool netlink_is_ours(int fd);

/* Answer the requests in @len bytes: @len, or -1 and errno. */
ssize_t netlink_send(int fd, const void *requests, size_t len);
