#pragma once
/*
 * Lists the objects that are alive, for the report and for a debugger. The caller has exclusive
 * access to the replay.
 */
struct replay;

/*
 * Poll all completions off the queues, list all objects that are alive, and let the user inspect
 * them (options.look). Returns 0 or -ENOMEM.
 */
int alive_show(struct replay *r);
