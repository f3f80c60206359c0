#pragma once
/*
 * The call in which a process crashed, as far as it is known.
 *
 * Not thread-safe.
 */
#include "analyzer/model/moment.h"

struct model;
struct null_result;

/* The arguments of an unfinished call that may explain a crash. */
struct crashed_call {
	enum object_kind null; /* kind of the object, if it is NULL; else OBJECT_COUNT */
	uint64_t id;           /* an identifier of librdmacm; 0: none */
	uint64_t of_event;     /* that of an event that is acknowledged; 0: none */
};

struct crashed_call crashed_read_call(const struct trace_event *event);

/*
 * Why @process crashed in the call that began at @moment; NULL: it did not crash, the reason is not
 * known, or out of memory. The caller frees it.
 */
char *crashed_describe_cause(const struct model *model, uint32_t process,
			     const struct moment *moment, const struct crashed_call *call);

/*
 * As crashed_describe_cause(), for a last verb of @process that had destroyed an object, or had
 * found a completion of an extended CQ of which some fields cannot be read.
 */
char *crashed_describe_destroyed(const struct model *model, uint32_t process);

/* As crashed_describe_cause(), for a process that may have used the @null of a creation. */
char *crashed_describe_null(const struct model *model, uint32_t process,
			    const struct null_result *null);

/* As crashed_describe_cause(), for an identifier of librdmacm without a queue pair. */
char *crashed_describe_no_qp(const struct model *model, uint32_t process);
