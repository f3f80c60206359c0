#pragma once
/*
 * Taking part in the fabric.
 */
/*
 * Take part in the fabric without a context, as a child that has not yet
 * opened anything, too. 0 or -errno.
 */
int soft_join(void);
void soft_leave(void);
