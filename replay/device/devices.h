#pragma once
/*
 * The devices of this machine, and which of them replaces which recorded one.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/store/db/args.h"
#include "replay/device/gids.h"

enum { PORTS_MAX = 4 };

struct port {
	bool there;
	uint16_t lid;
	bool ethernet;
	enum ibv_mtu mtu;
	int gid_table, pkey_table; /* lengths */
	struct gids gids;
	int best_gid; /* RoCE v2 if there is one */
};

enum { DEVICES_MAX = 64 };

struct device {
	struct ibv_device *device;
	struct ibv_context *context;
	const char *name;
	struct ibv_device_attr attr;
	struct port ports[PORTS_MAX + 1]; /* from 1 */
};

struct devices;
struct outcome;

/*
 * Open all devices, or, unless @only is NULL, only the one of that name. Returns 0; -ENODEV after
 * log_err() if there is none, or another -errno.
 */
int devices_open(const char *only, struct devices **ret_devices);

/* Accepts NULL. */
void devices_close(struct devices *devices);

/* The device given to devices_open(), if any; else the machine's first. */
const struct device *devices_first(const struct devices *devices);

/*
 * The device that replaces recorded device @name: the one with the same name; the other recorded
 * devices are replaced by the devices of this machine in turn. Never NULL.
 */
const struct device *devices_find_role(struct devices *devices, const char *name);

/*
 * Note the result of ibv_query_device() for recorded device @name: argument @in of @out has the
 * attributes. Takes a reference to @out.
 */
void devices_note_attr(struct devices *devices, const char *name, struct args *out, enum arg in);

/* Note that recorded device @name is an iWARP device: only librdmacm connects its queue pairs. */
void devices_note_iwarp(struct devices *devices, const char *name);
bool devices_was_iwarp(const struct devices *devices, const char *name);

/* Was recorded device @name only listed, not opened, and is it missing on this machine? */
bool devices_lack(const struct devices *devices, const char *name);

/*
 * Report to @outcome whether the devices differ from the recorded ones, and how: by their
 * attributes, or only by the name if the trace has no attributes.
 */
void devices_report(const struct devices *devices, struct outcome *outcome);

/* Are all used devices like the recorded ones, except for their GUIDs? */
bool devices_are_alike(const struct devices *devices);

/* The devices that replace a recorded one, counted from 0; NULL after the last. */
const struct device *devices_nth_used(const struct devices *devices, unsigned int i);

/* The device that @context was opened on. */
const struct device *devices_of(const struct devices *devices, const struct ibv_context *context);

/* Port @port of @device, or port 1 if it has fewer ports. */
uint8_t device_port(const struct device *device, uint8_t port);

/* Names of all devices, "a, b". */
void devices_names(const struct devices *devices, char *text, size_t size);

/*
 * Note a recorded address: @lid of port @port of recorded device @name; or @gid, at @index of the
 * GID table of that port.
 */
int devices_note_lid(struct devices *devices, const char *name, uint8_t port, uint16_t lid);
int devices_note_gid(struct devices *devices, const char *name, uint8_t port, int64_t index,
		     const struct gid *gid);

/*
 * Change the address @av, used by @from with a GID of its port, to one that reaches port @to_port
 * of @to.
 */
void devices_translate(const struct device *from, const struct device *to, uint8_t to_port,
		       struct ibv_ah_attr *av);

/*
 * Set the sender's part of @av, which was used on recorded device @name: the port, and the index of
 * the GID that replaces the recorded one. Call it before devices_translate().
 */
void devices_translate_source(const struct devices *devices, const char *name,
			      const struct device *from, struct ibv_ah_attr *av);

/* Find the port with the recorded address @av; false if no recorded device had it. */
bool devices_find_address(struct devices *devices, const struct ibv_ah_attr *av,
			  const struct device **ret_device, uint8_t *ret_port);
