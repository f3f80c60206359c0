#pragma once
/*
 * The end of a joint trace, for trace_close(). One thread.
 */
struct joint;

void joint_free(struct joint *joint);
