#pragma once
/*
 * Joining the fabric.
 */
/*
 * Join the fabric without a context; also in a child that has not opened the device. 0 or -errno.
 */
int soft_join(void);
void soft_leave(void);
