#pragma once
/*
 * Why the other end refused a connection, or a request for datagrams, of librdmacm.
 *
 * Not thread-safe.
 */
#include <stdint.h>

struct model;
struct trace;
struct trace_event;

/*
 * The reason of event @name with @status, returned by rdma_get_cm_event() as @event: of IBA 12.6.7,
 * or, for datagrams, a SIDR status. The caller frees it; NULL: not known.
 */
char *cm_refused_reason(struct trace *trace, const struct model *model,
			const struct trace_event *event, const char *name, int64_t status);
