#pragma once
/* Collects the facts of the whole trace that must be known before its first event is replayed. */
struct replay;

/* Learn objects, memory, connections and ports. Returns 0 or -errno after log_err(). */
int learn_trace(struct replay *r);
