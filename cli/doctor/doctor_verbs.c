/*
 * verbatim doctor: the devices as a program finds them, through libibverbs
 *
 * Uses the libibverbs of this process's environment: with `verbatim run --device soft`, the
 * software device's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/doctor/doctor.h"
#include "cli/format.h"

enum {
	GIDS = 256,
	VENDOR_SIW = 0x626d74, /* the kernel's siw: SIW_VENDOR_ID */
};

static const char *layer_name(const struct ibv_port_attr *port)
{
	return port->link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
}

static void check_gids(struct doctor *doctor, struct ibv_context *context, unsigned int port,
		       const struct ibv_port_attr *attr)
{
	const char *device = ibv_get_device_name(context->device);
	struct ibv_gid_entry gids[GIDS];
	ssize_t n = ibv_query_gid_table(context, gids, GIDS, 0), here = 0;

	for (ssize_t i = 0; i < n; i++)
		here += gids[i].port_num == port;
	if (n < 0) {
		doctor_report(doctor, DOCTOR_PROBLEM, "look at the kernel's messages ('dmesg')",
			      "%s port %u: its GID table cannot be read (%s)", device, port,
			      strerror((int)-n));
		return;
	}
	doctor_report(doctor, here ? DOCTOR_OK : DOCTOR_PROBLEM,
		      here ? NULL
			   : "give the network interface of the port an address, and bring it up",
		      "%s port %u: %s, %s, LID %u, %zd GID%s", device, port, layer_name(attr),
		      ibv_port_state_str(attr->state), attr->lid, here, here == 1 ? "" : "s");
}

static void check_port(struct doctor *doctor, struct ibv_context *context, unsigned int port)
{
	const char *device = ibv_get_device_name(context->device);
	struct ibv_port_attr attr;

	if (ibv_query_port(context, (uint8_t)port, &attr))
		doctor_report(doctor, DOCTOR_PROBLEM, "look at the kernel's messages ('dmesg')",
			      "%s port %u cannot be queried", device, port);
	else if (attr.state != IBV_PORT_ACTIVE && attr.state != IBV_PORT_ACTIVE_DEFER)
		doctor_report(
			doctor, DOCTOR_PROBLEM,
			attr.link_layer == IBV_LINK_LAYER_ETHERNET
				? "bring its network interface up ('rdma link', 'ip link set ... "
				  "up'); ignore this if another port is used"
				: "check the cable and the subnet manager ('ibstat', 'sminfo'); "
				  "ignore this if another port is used",
			"%s port %u: %s, %s", device, port, layer_name(&attr),
			ibv_port_state_str(attr.state));
	else
		check_gids(doctor, context, port, &attr);
}

/* Report a limit that applies although "memlock" found CAP_IPC_LOCK: soft iWARP ignores that. */
static void check_limit(struct doctor *doctor, struct ibv_context *context,
			const struct ibv_device_attr *attr)
{
	char text[FORMAT_TEXT];
	struct rlimit limit;

	if (attr->vendor_id != VENDOR_SIW || getrlimit(RLIMIT_MEMLOCK, &limit) ||
	    limit.rlim_cur == RLIM_INFINITY)
		return;
	doctor_report(
		doctor, DOCTOR_NOTE, "'ulimit -l unlimited'",
		"%s is siw, which applies RLIMIT_MEMLOCK even with root or CAP_IPC_LOCK: only "
		"%s can be registered",
		ibv_get_device_name(context->device), format_bytes(limit.rlim_cur, text));
}

static void check_ports(struct doctor *doctor, struct ibv_device *device)
{
	struct ibv_context *context = ibv_open_device(device);
	struct ibv_device_attr attr;

	if (!context) {
		doctor_report(doctor, DOCTOR_PROBLEM, "see the lines on its node and module",
			      "%s cannot be opened: %s", ibv_get_device_name(device),
			      strerror(errno));
		return;
	}
	if (ibv_query_device(context, &attr))
		attr = (struct ibv_device_attr){ .phys_port_cnt = 1 };
	check_limit(doctor, context, &attr);
	for (unsigned int port = 1; port <= attr.phys_port_cnt; port++)
		check_port(doctor, context, port);
	ibv_close_device(context);
}

void doctor_check_ports(struct doctor *doctor)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);

	if (n < (int)doctor->devices)
		doctor_report(doctor, DOCTOR_PROBLEM,
			      "install the provider's library (Debian: ibverbs-providers) and load "
			      "ib_uverbs",
			      "libibverbs finds %d of %u devices: %s", n, doctor->devices,
			      list ? "a provider is missing" : strerror(errno));
	for (int i = 0; i < n; i++)
		check_ports(doctor, list[i]);
	if (list)
		ibv_free_device_list(list);
}

/* Find the path of the file that contains @symbol, with links resolved. */
static bool file_of(void *symbol, char path[PATH_MAX])
{
	Dl_info info;

	return dladdr(symbol, &info) && realpath(info.dli_fname, path);
}

void doctor_check_library(struct doctor *doctor)
{
	unsigned int providers = doctor_each(doctor, "/etc/libibverbs.d", NULL);
	char path[PATH_MAX];

	if (!file_of((void *)ibv_get_device_list, path))
		strcpy(path, "libibverbs");
	if (strstr(path, "/dropin/") || strstr(path, "libverbatim-soft"))
		doctor_report(doctor, DOCTOR_OK, NULL, "%s, the software device", path);
	else
		doctor_report(doctor, providers ? DOCTOR_OK : DOCTOR_NOTE,
			      providers
				      ? NULL
				      : "install the providers (Debian: ibverbs-providers), or use "
					"--device soft",
			      "%s, %u providers in /etc/libibverbs.d", path, providers);
}

void doctor_check_fork(struct doctor *doctor)
{
	enum ibv_fork_status status = ibv_is_fork_initialized();

	if (status == IBV_FORK_UNNEEDED || (!doctor->devices && doctor_copies_on_fork(doctor)))
		doctor_report(doctor, DOCTOR_OK, NULL,
			      "this kernel gives a child copies of registered pages: fork is safe");
	else if (status == IBV_FORK_ENABLED)
		doctor_report(doctor, DOCTOR_OK, NULL,
			      "libibverbs excludes registered memory from children");
	else
		doctor_report(
			doctor, DOCTOR_NOTE,
			"call ibv_fork_init() first, or set RDMAV_FORK_SAFE=1, in programs that "
			"fork "
			"(also by system() and popen())",
			"a fork may move registered memory of a program away from the device");
}
