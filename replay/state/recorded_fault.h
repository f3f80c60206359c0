#pragma once
/*
 * Faults that the recorder made in the recording (record --faults), by the event that met them.
 *
 * Read-only once they are learned: any thread then. The text is that of the fault's mark, such as
 * "ibv_reg_mr() fails with ENOMEM (line 1)"; its words are those of shim/trace/faults/.
 */
#include "core/base/map.h"
#include "core/store/read/trace.h"

struct replay;

struct recorded_faults {
	struct map texts; /* event_key() of a call, post, poll or notification, to its text */
	uint64_t again;   /* faults that the replay has repeated without calling the device */
};

/*
 * Learn the faults of the trace into @r->recorded_faults, if it has any. 0 or -errno after
 * log_err().
 */
int recorded_faults_learn(struct replay *r);
void recorded_faults_free(struct replay *r);

/* The fault that event @id has met; NULL: none. Borrowed from the trace. */
const char *recorded_fault_at(const struct replay *r, struct event_id id);

/* The errno with which the recorder made the event fail; 0: it did not fail. */
int recorded_fault_error(const struct replay *r, struct event_id id);

/*
 * Copy to @name the event of librdmacm that came, "RDMA_CM_EVENT_ESTABLISHED", if the recorder gave
 * the program another one. False: the program got the event that came.
 */
bool recorded_fault_cm_event(const struct replay *r, struct event_id id, char name[64]);

/* The asynchronous event that came with a post, "IBV_EVENT_QP_FATAL", into @name. False: none. */
bool recorded_fault_async(const struct replay *r, struct event_id id, char name[64]);

/* Did the connection of the queue pair end with this post? */
bool recorded_fault_ended(const struct replay *r, struct event_id id);

/* The delay of a request of this post, in ns; 0: none. */
uint64_t recorded_fault_delay(const struct replay *r, struct event_id id);

/* Count a fault that the replay repeats without calling the device. */
void recorded_faults_count(struct replay *r);

/*
 * Did the recorder make this call, post, poll or notification of @object fail? Then the recorder
 * did not call the device, and the replay must not, either: count the fault. Returns the errno; 0:
 * it did not fail.
 */
int recorded_fault_repeat(struct replay *r, struct event_id event, enum verb verb, uint32_t object);

/* The program got event @text of librdmacm for @object in place of the one that came: count it. */
void recorded_fault_count_event(struct replay *r, const struct trace_event *event, uint32_t object,
				const char *text);
