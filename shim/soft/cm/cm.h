#pragma once
/*
 * The connection manager's device, /dev/infiniband/rdma_cm, in the protocol of librdmacm: commands
 * of <rdma/rdma_user_cm.h> (ABI 4) written to a file descriptor that becomes readable when an event
 * waits. libc.c calls these functions in place of open(2), write(2) and close(2). Any thread.
 */
#include <stdbool.h>
#include <sys/types.h>

/* Create an event channel. Returns a file descriptor; or -1 and errno. */
int cm_open(int flags);

/* Is @fd a channel? Must be fast, since every write() of the program calls it. */
bool cm_owns(int fd);

/* Execute the command of @len bytes in @buf. Returns @len, or -1 and errno. */
ssize_t cm_write(int fd, const void *buf, size_t len);

/* Free the state of channel @fd. Call it before the descriptor is closed. */
void cm_close(int fd);
