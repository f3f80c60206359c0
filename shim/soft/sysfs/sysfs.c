/*
 * The contents of the device's tree below /sys and /dev
 *
 * The same layout as the kernel's: the device is a function on a separate PCI bus, in a PCI domain
 * that no machine has, and the classes have links to it:
 *
 *	/sys/devices/pci5642:00/5642:00:00.0/	vendor, numa_node, ...
 *		infiniband/verbatim0/		fw_ver, ports/1/state, ...
 *		infiniband_verbs/uverbs0/	ibdev, dev, ...
 *	/sys/class/infiniband/verbatim0		-> ../../devices/...
 *
 * Values are those that the verbs report (profile.h, port.h) when the tree is created. Counters are
 * 0, or links to the files of port_counters.h.
 *
 * Not here: the location and the lifetime of the tree (sysfs_tree.c).
 */
#include "shim/soft/sysfs/sysfs.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "shim/soft/fabric/port.h"
#include "shim/soft/fabric/port_counters.h"
#include "shim/soft/fabric/profile.h"
#include "shim/soft/fabric/uplink.h"

#define BUS    "sys/devices/pci5642:00"
#define FUNC   "5642:00:00.0"
#define PCI    BUS "/" FUNC
#define UVERBS PCI "/infiniband_verbs/uverbs0"
#define CM     "sys/devices/virtual/misc/rdma_cm"

/* clang-format off */
const char *const sysfs_paths[SYSFS_PATHS] = {
	"/sys/class/infiniband",
	"/sys/class/infiniband_verbs",
	"/sys/class/infiniband_mad",
	"/sys/class/misc/rdma_cm",
	"/sys/class/pci_bus/5642:00",
	"/sys/bus/pci/devices/" FUNC,
	"/" BUS,
	"/" CM,
	"/dev/infiniband",
};
/* clang-format on */

/* clang-format off */
const char *const sysfs_nodes[SYSFS_NODES] = {
	[SYSFS_UVERBS]	= "/dev/infiniband/uverbs0",
	[SYSFS_CM]	= "/dev/infiniband/rdma_cm",
};
/* clang-format on */

enum { UVERBS_MAJOR = 231, UVERBS_MINOR = 192, MISC_MAJOR = 10, CM_MINOR = 58 };

/*
 * Read "major:minor" from the machine's own sysfs, without functions of libc that this library
 * replaces.
 */
static bool read_number(const char *path, unsigned int *ret_major, unsigned int *ret_minor)
{
	char text[32] = "";
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (syscall(SYS_read, fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	syscall(SYS_close, fd);
	return sscanf(text, "%u:%u", ret_major, ret_minor) == 2;
}

/*
 * A dynamic misc device. librdmacm asks the kernel for the number by netlink, which is not
 * replaced, and opens the node only if it has this number. So if the kernel has rdma_ucm, the
 * number of its device is used.
 */
static dev_t cm_number;

static void find_cm_number(void)
{
	unsigned int major, minor;
	int before = errno;

	if (!read_number("/sys/class/misc/rdma_cm/dev", &major, &minor)) {
		major = MISC_MAJOR;
		minor = CM_MINOR;
	}
	errno = before;
	cm_number = makedev(major, minor);
}

/* The device numbers are the same as the kernel's. */
dev_t sysfs_number(unsigned int node)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (node != SYSFS_CM)
		return makedev(UVERBS_MAJOR, UVERBS_MINOR);
	pthread_once(&once, find_cm_number);
	return cm_number;
}

/* The tree under construction; the first error is stored. */
struct tree {
	int root;
	int err;
	char dir[160];
};

static int make_parents(int root, const char *path)
{
	char dir[256];
	size_t i;

	for (i = 1; path[i] && i < sizeof(dir); i++) {
		if (path[i] != '/')
			continue;
		memcpy(dir, path, i);
		dir[i] = '\0';
		if (mkdirat(root, dir, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

int sysfs_put(int root, const char *path, const char *text, size_t len)
{
	int err = make_parents(root, path);
	int fd;

	if (err)
		return err;
	fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len)
		err = errno ? -errno : -ENOSPC;
	close(fd);
	return err;
}

__attribute__((format(printf, 3, 4))) static void put_link(struct tree *tree, const char *to,
							   const char *format, ...)
{
	char path[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(path, sizeof(path), format, ap);
	va_end(ap);
	if (!tree->err)
		tree->err = make_parents(tree->root, path);
	if (!tree->err && symlinkat(to, tree->root, path) < 0)
		tree->err = -errno;
}

/* Write a file in the current directory of the tree. */
__attribute__((format(printf, 3, 4))) static void put_attribute(struct tree *tree, const char *name,
								const char *format, ...)
{
	char text[1024], path[256];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof(text) - 1, format, ap);
	va_end(ap);
	if (n && text[n - 1] != '\n')
		text[n++] = '\n';
	snprintf(path, sizeof(path), "%s/%s", tree->dir, name);
	if (!tree->err)
		tree->err = sysfs_put(tree->root, path, text, n);
}

__attribute__((format(printf, 2, 3))) static void enter_folder(struct tree *tree,
							       const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(tree->dir, sizeof(tree->dir), format, ap);
	va_end(ap);
}

static void show_node(struct tree *tree, unsigned int i, const char *devname)
{
	const dev_t number = sysfs_number(i);

	put_attribute(tree, "dev", "%u:%u", major(number), minor(number));
	put_attribute(tree, "uevent", "MAJOR=%u\nMINOR=%u\nDEVNAME=infiniband/%s", major(number),
		      minor(number), devname);
}

static void put_nodes(struct tree *tree)
{
	unsigned int i;

	for (i = 0; i < SYSFS_NODES && !tree->err; i++)
		tree->err = sysfs_put(tree->root, sysfs_nodes[i] + 1, "", 0);
	enter_folder(tree, "%s", CM);
	show_node(tree, SYSFS_CM, "rdma_cm");
	put_attribute(tree, "abi_version", "4");
	put_link(tree, "../../devices/virtual/misc/rdma_cm", "sys/class/misc/rdma_cm");
}

/* Write the masks of processors: the device is local to all possible ones. */
static void show_cpus(struct tree *tree)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF), last = (cpus - 1) / 32, word, n = 0;
	char mask[300] = "";

	for (word = last; word >= 0 && n < 256; word--)
		n += snprintf(mask + n, sizeof(mask) - n, "%08x%s",
			      word == last ? ~0u >> (31 - (cpus - 1) % 32) : ~0u, word ? "," : "");
	put_attribute(tree, "local_cpus", "%s", mask);
	put_attribute(tree, "local_cpulist", "0-%ld", cpus - 1);
}

/* Write the network interface that has the device's addresses. */
static void put_interface(struct tree *tree)
{
	const struct uplink *uplink = uplink_interface();
	char name[64];

	snprintf(name, sizeof(name), "net/%s/ifindex", uplink->name);
	put_attribute(tree, name, "%u", uplink->index);
	snprintf(name, sizeof(name), "net/%s/address", uplink->name);
	put_attribute(tree, name, "%02x:%02x:%02x:%02x:%02x:%02x", uplink->mac[0], uplink->mac[1],
		      uplink->mac[2], uplink->mac[3], uplink->mac[4], uplink->mac[5]);
}

/* Write the PCI identification: PCI numbers have 16 bits, where verbs have 24 or 32. */
static void put_pci(struct tree *tree)
{
	const struct ibv_device_attr *attr = profile_limits();

	enter_folder(tree, "%s", PCI);
	put_attribute(tree, "vendor", "0x%04x", attr->vendor_id & 0xffff);
	put_attribute(tree, "device", "0x%04x", attr->vendor_part_id & 0xffff);
	put_attribute(tree, "subsystem_vendor", "0x%04x", attr->vendor_id & 0xffff);
	put_attribute(tree, "subsystem_device", "0x%04x", attr->vendor_part_id & 0xffff);
	put_attribute(tree, "revision", "0x%02x", attr->hw_ver & 0xff);
	put_attribute(tree, "class", "0x020700"); /* InfiniBand controller */
	put_attribute(tree, "numa_node", "-1");
	put_attribute(tree, "irq", "0");
	put_attribute(tree, "enable", "1");
	put_attribute(tree, "resource", "0x%016x 0x%016x 0x%016x", 0, 0, 0);
	put_attribute(tree, "current_link_speed", "16.0 GT/s PCIe");
	put_attribute(tree, "current_link_width", "16");
	put_attribute(tree, "max_link_speed", "16.0 GT/s PCIe");
	put_attribute(tree, "max_link_width", "16");
	put_attribute(tree, "modalias", "pci:v%08Xd%08Xsv%08Xsd%08Xbc02sc07i00",
		      attr->vendor_id & 0xffff, attr->vendor_part_id & 0xffff,
		      attr->vendor_id & 0xffff, attr->vendor_part_id & 0xffff);
	put_attribute(tree, "uevent",
		      "DRIVER=verbatim-soft\nPCI_CLASS=20700\n"
		      "PCI_ID=%04X:%04X\nPCI_SLOT_NAME=%s",
		      attr->vendor_id & 0xffff, attr->vendor_part_id & 0xffff, FUNC);
	put_interface(tree);
	show_cpus(tree);
	put_link(tree, "../../../bus/pci", "%s/subsystem", PCI);
	put_link(tree, "../../../devices/pci5642:00/" FUNC, "sys/bus/pci/devices/%s", FUNC);
	enter_folder(tree, "%s", BUS "/pci_bus/5642:00");
	put_attribute(tree, "cpuaffinity", "1");
	put_link(tree, "../../../pci5642:00", "%s/device", BUS "/pci_bus/5642:00");
	put_link(tree, "../../devices/pci5642:00/pci_bus/5642:00", "sys/class/pci_bus/5642:00");
}

static void put_verbs(struct tree *tree)
{
	enter_folder(tree, "%s", UVERBS);
	put_attribute(tree, "abi_version", "1");
	put_attribute(tree, "ibdev", "%s", profile_get()->name);
	show_node(tree, SYSFS_UVERBS, "uverbs0");
	put_link(tree, "../../../" FUNC, "%s/device", UVERBS);
	put_link(tree, "../../../../../class/infiniband_verbs", "%s/subsystem", UVERBS);
	put_link(tree, "../../devices/pci5642:00/" FUNC "/infiniband_verbs/uverbs0",
		 "sys/class/infiniband_verbs/uverbs0");
	enter_folder(tree, "sys/class/infiniband_verbs");
	put_attribute(tree, "abi_version", "6");
	enter_folder(tree, "sys/class/infiniband_mad");
	put_attribute(tree, "abi_version", "5");
}

static void show_guid(struct tree *tree, const char *name, __be64 guid)
{
	uint64_t value = be64toh(guid);

	put_attribute(tree, name, "%04x:%04x:%04x:%04x", (unsigned int)(value >> 48),
		      (unsigned int)(value >> 32 & 0xffff), (unsigned int)(value >> 16 & 0xffff),
		      (unsigned int)(value & 0xffff));
}

/* Write a GID without abbreviation, like the kernel's format %pI6. */
static void show_gid(struct tree *tree, const char *name, const union ibv_gid *gid)
{
	const uint8_t *raw = gid->raw;
	char text[40];
	unsigned int i, n = 0;

	for (i = 0; i < sizeof(gid->raw); i += 2)
		n += snprintf(text + n, sizeof(text) - n, "%s%02x%02x", i ? ":" : "", raw[i],
			      raw[i + 1]);
	put_attribute(tree, name, "%s", text);
}

static const char *state_name(enum ibv_port_state state)
{
	static const char *const names[] = {
		"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "UNKNOWN";
}

static const char *phys_name(unsigned int state)
{
	static const char *const names[] = {
		"<unknown>",
		"Sleep",
		"Polling",
		"Disabled",
		"PortConfigurationTraining",
		"LinkUp",
		"LinkErrorRecovery",
		"Phy Test",
	};

	return names[state < sizeof(names) / sizeof(names[0]) ? state : 0];
}

/* The rate of a lane in 0.1 Gbit/s, and the kernel's name for the speed. */
static unsigned int lane_rate(unsigned int speed, const char **name)
{
	static const struct {
		unsigned int speed, rate;
		const char *name;
	} speeds[] = {
		{ 1, 25, " SDR" },    { 2, 50, " DDR" },     { 4, 100, " QDR" },
		{ 8, 100, " FDR10" }, { 16, 140, " FDR" },   { 32, 250, " EDR" },
		{ 64, 500, " HDR" },  { 128, 1000, " NDR" },
	};
	size_t i;

	for (i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		if (speeds[i].speed == speed) {
			*name = speeds[i].name;
			return speeds[i].rate;
		}
	}
	*name = "";
	return 25;
}

static unsigned int count_lanes(unsigned int width)
{
	switch (width) {
	case 2:
		return 4;
	case 4:
		return 8;
	case 8:
		return 12;
	case 16:
		return 2;
	default:
		return 1;
	}
}

static void show_rate(struct tree *tree, const struct ibv_port_attr *attr)
{
	const char *name;
	unsigned int rate = lane_rate(attr->active_speed, &name) * count_lanes(attr->active_width);

	put_attribute(tree, "rate", "%u%s Gb/sec (%uX%s)", rate / 10, rate % 10 ? ".5" : "",
		      count_lanes(attr->active_width), name);
}

/*
 * Write an attribute of a GID. The kernel has these files for each entry of the table; reading one
 * fails with EINVAL if the entry is empty or has no interface. So does reading the speed of the
 * loopback interface.
 */
static void put_gid_attribute(struct tree *tree, const char *kind, int index, const char *text)
{
	char name[64];

	snprintf(name, sizeof(name), "gid_attrs/%s/%d", kind, index);
	if (text)
		put_attribute(tree, name, "%s", text);
	else
		put_link(tree, "/sys/class/net/lo/speed", "%s/%s", tree->dir, name);
}

static void put_gids(struct tree *tree, const struct port *port, const char *dir)
{
	bool roce = port->attr.link_layer == IBV_LINK_LAYER_ETHERNET, set;
	char name[64];
	int i;

	enter_folder(tree, "%s", dir);
	for (i = 0; i < port->attr.gid_tbl_len; i++) {
		set = link_has_gid(port, i);
		snprintf(name, sizeof(name), "gids/%d", i);
		show_gid(tree, name, &port->gid[i].gid);
		put_gid_attribute(tree, "types", i,
				  !set                                        ? NULL
				  : port->gid[i].type == IBV_GID_TYPE_ROCE_V2 ? "RoCE v2"
									      : "IB/RoCE v1");
		put_gid_attribute(tree, "ndevs", i, set && roce ? uplink_interface()->name : NULL);
	}
	for (i = 0; i < port->attr.pkey_tbl_len; i++) {
		snprintf(name, sizeof(name), "pkeys/%d", i);
		put_attribute(tree, name, "0x%04x", port->pkey[i]);
	}
}

/* A counter: a link to its file in VERBATIM_SOFT_COUNTERS, else a file with 0. */
static void put_counter(struct tree *tree, uint32_t port, const char *name)
{
	char path[256];
	struct stat st;

	for (int i = 0; i < PORT_COUNTERS; i++) {
		if (strcmp(name, port_counter_names[i]) ||
		    !port_counters_path(port, (enum port_counter)i, path, sizeof(path)) ||
		    fstatat(AT_FDCWD, path, &st, 0))
			continue;
		put_link(tree, path, "%s/%s", tree->dir, name);
		return;
	}
	put_attribute(tree, name, "0");
}

static void put_counters(struct tree *tree, uint32_t port)
{
	static const char *const names[] = {
		"VL15_dropped",
		"excessive_buffer_overrun_errors",
		"link_downed",
		"link_error_recovery",
		"local_link_integrity_errors",
		"multicast_rcv_packets",
		"multicast_xmit_packets",
		"port_rcv_constraint_errors",
		"port_rcv_data",
		"port_rcv_errors",
		"port_rcv_packets",
		"port_rcv_remote_physical_errors",
		"port_rcv_switch_relay_errors",
		"port_xmit_constraint_errors",
		"port_xmit_data",
		"port_xmit_discards",
		"port_xmit_packets",
		"port_xmit_wait",
		"symbol_error",
		"unicast_rcv_packets",
		"unicast_xmit_packets",
	};
	static const char *const hw_names[] = {
		"duplicate_request", "lifespan",           "local_ack_timeout_err",
		"out_of_buffer",     "out_of_sequence",    "packet_seq_err",
		"rnr_nak_retry_err", "rx_atomic_requests", "rx_read_requests",
		"rx_write_requests",
	};
	char name[64];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(name, sizeof(name), "counters/%s", names[i]);
		put_counter(tree, port, name);
	}
	for (i = 0; i < sizeof(hw_names) / sizeof(hw_names[0]); i++) {
		snprintf(name, sizeof(name), "hw_counters/%s", hw_names[i]);
		put_counter(tree, port, name);
	}
}

static void put_port(struct tree *tree, const char *device, uint8_t num, const struct port *port)
{
	const struct ibv_port_attr *attr = &port->attr;
	char dir[144];

	snprintf(dir, sizeof(dir), "%s/ports/%u", device, num);
	put_gids(tree, port, dir);
	put_attribute(tree, "state", "%u: %s", attr->state, state_name(attr->state));
	put_attribute(tree, "phys_state", "%u: %s", attr->phys_state, phys_name(attr->phys_state));
	put_attribute(tree, "lid", "0x%x", attr->lid);
	put_attribute(tree, "lid_mask_count", "%u", attr->lmc);
	put_attribute(tree, "sm_lid", "0x%x", attr->sm_lid);
	put_attribute(tree, "sm_sl", "%u", attr->sm_sl);
	put_attribute(tree, "cap_mask", "0x%08x", attr->port_cap_flags);
	put_attribute(tree, "link_layer", "%s",
		      attr->link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand");
	show_rate(tree, attr);
	put_counters(tree, num);
}

static void put_device(struct tree *tree)
{
	const struct profile *profile = profile_get();
	const struct ibv_device_attr *attr = profile_limits();
	const struct port *port;
	char device[128], target[144];
	uint32_t num;

	snprintf(device, sizeof(device), PCI "/infiniband/%s", profile->name);
	port_counters_publish();
	enter_folder(tree, "%s", device);
	put_attribute(tree, "node_type", "1: CA");
	put_attribute(tree, "node_desc", "%s", profile->node_desc);
	put_attribute(tree, "hca_type", "%s", profile->hca_type);
	put_attribute(tree, "board_id", "%s", profile->board_id);
	put_attribute(tree, "fw_ver", "%s", attr->fw_ver);
	put_attribute(tree, "hw_rev", "%x", attr->hw_ver);
	put_attribute(tree, "uevent", "NAME=%s", profile->name);
	show_guid(tree, "node_guid", attr->node_guid);
	show_guid(tree, "sys_image_guid", attr->sys_image_guid);
	put_link(tree, "../../../" FUNC, "%s/device", device);
	put_link(tree, "../../../../../class/infiniband", "%s/subsystem", device);
	snprintf(target, sizeof(target), "../../%s", device + sizeof("sys"));
	put_link(tree, target, "sys/class/infiniband/%s", profile->name);
	for (num = 1; (port = port_at(num)); num++)
		put_port(tree, device, num, port);
}

int sysfs_make(int root)
{
	struct tree tree = { .root = root };

	profile_check();
	put_nodes(&tree);
	put_pci(&tree);
	put_verbs(&tree);
	put_device(&tree);
	return tree.err;
}
