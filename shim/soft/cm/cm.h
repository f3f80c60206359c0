#pragma once
/*
 * The connection manager's device, /dev/infiniband/rdma_cm, as librdmacm
 * talks to it: commands of <rdma/rdma_user_cm.h> (ABI 4) written to a file
 * descriptor that becomes readable when an event waits. libc.c calls these
 * in place of open(2), write(2) and close(2). Any thread.
 */
#include <stdbool.h>
#include <sys/types.h>

/* A new event channel: a file descriptor, or -1 and errno. */
int cm_open(int flags);

/* Is @fd one of ours? Cheap: every write() of the program asks. */
bool cm_owns(int fd);

/* One command; @len, or -1 and errno. */
ssize_t cm_write(int fd, const void *buf, size_t len);

/* Before the descriptor is closed: drop what it holds. */
void cm_close(int fd);
