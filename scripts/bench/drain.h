#pragma once
/*
 * A thread that plays the collector: empties this process's only ring.
 */
#include <stdbool.h>
#include <stdint.h>

/* Make a session and tell the recorder of it; before the first verb. Returns 0 or -errno. */
int drain_start(void);

/* Before the first verb: what is kept of payloads, core/wire/payload.h; as `record --strict`? */
void drain_keep(uint64_t payload, bool strict);

/* Empty the ring now, by the other thread, and wait for it. */
void drain_now(void);

/*
 * From now on it empties the ring all the time; or nobody reads it, and it is never full; or it is
 * emptied by drain_now(). Not DRAIN_NEVER before the ring is as wide as it becomes.
 */
enum drain_when { DRAIN_BETWEEN, DRAIN_ALWAYS, DRAIN_NEVER };
void drain_set(enum drain_when when);

/* ns of a flag's way from this processor to the thread's. Where drain_set() is DRAIN_BETWEEN. */
double drain_distance(void);

/* Of the last control verb. */
unsigned int drain_frames(void);

/* Was there a ring at all? */
bool drain_recorded(void);

/* Was anything lost? */
bool drain_dropped(void);

/* Close the session: the recorder stops when its ring is full. */
void drain_end_session(void);

/* Remove the session. Returns 0, or -EBADMSG after a line to stderr. */
int drain_stop(void);
