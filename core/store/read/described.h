#pragma once
/*
 * The devices that the recorder described: tables device, port and gid.
 *
 * For one trace, not a joint one. Unreadable values are treated as missing; texts are borrowed
 * until the callback returns. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

struct trace;

struct described_device {
	int64_t id;
	const char *name, *fw_ver; /* NULL: not known */
};

/* Call @each for the first device that was opened. False: none is described. */
bool described_visit_opened(struct trace *trace,
			    void (*each)(void *arg, const struct described_device *device),
			    void *arg);

/* Ports 1 to @most of the device that are described, and have at least one GID and P_Key. */
struct described_port {
	unsigned int port;
	int64_t npkeys;
};
void described_ports(struct trace *trace, int64_t device, unsigned int most,
		     void (*each)(void *arg, const struct described_port *port), void *arg);

/*
 * The GIDs of a port with indexes below @most, in order: 32 hexadecimal digits and the name of the
 * type.
 */
struct described_gid {
	unsigned int index;
	const char *gid, *type;
};
void described_gids(struct trace *trace, int64_t device, unsigned int port, unsigned int most,
		    void (*each)(void *arg, const struct described_gid *gid), void *arg);

/*
 * Pass the attribute at @path ("$.orig_attr.max_qp") of @device, or of its port @port if that is
 * not 0, to @each, if it is known: a number; or the name of an enumerator, if @text is not NULL.
 */
void described_attribute(struct trace *trace, int64_t device, unsigned int port, const char *path,
			 void (*each)(void *arg, int64_t number, const char *text), void *arg);
