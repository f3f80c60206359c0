#pragma once
/*
 * A thread that acts as the collector: empties this process's only ring.
 */
#include <stdbool.h>
#include <stdint.h>

/* Create a session for the recorder; before the first verb. Returns 0 or -errno. */
int drain_start(void);

/* Before the first verb: what to record of payloads, core/wire/payload.h; as `record --strict`? */
void drain_keep(uint64_t payload, bool strict);

/* Empty the ring now, by the other thread, and wait for it. */
void drain_now(void);

/*
 * From now on it empties the ring all the time; or never, and the ring is never full; or only in
 * drain_now(). DRAIN_NEVER only after the ring has reached its final size.
 */
enum drain_when { DRAIN_BETWEEN, DRAIN_ALWAYS, DRAIN_NEVER };
void drain_set(enum drain_when when);

/* Time in ns that a flag takes from this processor to the thread's. Requires DRAIN_BETWEEN. */
double drain_distance(void);

/* The number of frames of the last control verb. */
unsigned int drain_frames(void);

/* Did the process have a ring? */
bool drain_recorded(void);

/* Were events lost? */
bool drain_dropped(void);

/* Close the session: the recorder stops when its ring is full. */
void drain_end_session(void);

/* Remove the session. Returns 0, or -EBADMSG after a line to stderr. */
int drain_stop(void);
