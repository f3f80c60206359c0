#pragma once
/*
 * What is alive here, for the report and for a debugger. For who has the replay for itself.
 */
struct replay;

/*
 * Take what has completed off its queues, list all that there is, and let the user look at it
 * (options.look). Returns 0 or -ENOMEM.
 */
int alive_show(struct replay *r);
