#pragma once
/*
 * Taking part in the fabric.
 */
/*
 * Take part in the fabric without a context; also in a child that has opened nothing yet. 0 or
 * -errno.
 */
int soft_join(void);
void soft_leave(void);
