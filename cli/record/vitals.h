#pragma once
/*
 * What the program does while it runs, counted for who looks: `verbatim top`, `record --live`.
 *
 * In the recorder's own thread, in slices between two rounds of reading, as the check is (watch.h).
 * It follows the trace itself, from its first event, as soon as somebody looks, and no longer than
 * that; beside a check it is given each event that is checked, from the start. A failure ends it
 * and not the recording. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"
#include "core/store/write/writer.h"
#include "core/wire/session.h"

struct vitals;

/*
 * @awaited: somebody is about to look, and is told at least the end. What is given is borrowed
 * until vitals_free(). 0 or -errno after log_err().
 */
int vitals_new(const struct session *session, struct writer *writer, bool awaited,
	       struct vitals **ret_vitals);

/* Accepts NULL. */
void vitals_free(struct vitals *vitals);

/*
 * Go on for a while; @seen as of collector_seen(), @fullest of collector_drain(). True: there is
 * more to be read, come back soon.
 */
bool vitals_step(struct vitals *vitals, int64_t seen, int fullest);

/* Read all events up to @time now, which are then forgotten. */
void vitals_read_until(struct vitals *vitals, int64_t time);

/* Does somebody look? Then the recorder must not sleep for long. */
bool vitals_is_on(const struct vitals *vitals);

/*
 * Another follows @trace, and gives each event before vitals_detach(). Accept NULL. 0 or -errno
 * after log_err().
 */
int vitals_attach(struct vitals *vitals, struct trace *trace);
void vitals_event(struct vitals *vitals, const struct trace_event *event);
void vitals_detach(struct vitals *vitals);

/* All has been given to the writer: count the rest and publish it if somebody looks. */
void vitals_finish(struct vitals *vitals);
