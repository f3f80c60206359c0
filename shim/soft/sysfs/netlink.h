#pragma once
/*
 * What the kernel's RDMA netlink would tell of the device: `rdma dev`, `rdma link`.
 *
 * A socket for it is one of NETLINK_USERSOCK, on which processes send to each other: it binds,
 * receives and waits as any. What is sent to the kernel on it is answered here. Any thread.
 */
#include <stdbool.h>
#include <sys/types.h>

/* Is such a socket one for RDMA? */
bool netlink_is_rdma(int domain, int protocol);

/* Remember that @fd is such a socket. */
void netlink_note(int fd);

/* Is it one? Cheap where no program has opened any. */
bool netlink_is_ours(int fd);

/* Answer the requests in @len bytes: @len, or -1 and errno. */
ssize_t netlink_send(int fd, const void *requests, size_t len);
