/*
 * verbatim doctor: the RDMA devices, as the kernel shows them
 *
 * A machine without a device is not a problem: programs run on the software device. With a
 * device, anything that keeps a program from using it is a problem.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "cli/format.h"

#define DEVICES "/sys/class/infiniband"
#define UVERBS  "/sys/class/infiniband_verbs"
#define PCI     "/sys/bus/pci/devices"

enum {
	CAP_IPC_LOCK_BIT = 14, /* capabilities(7) */
	MEMLOCK_LITTLE = 64 << 20,
};

/* PCI vendors whose network functions are all RDMA devices, and the kernel module they need. */
static const struct nic {
	const char *vendor, *remedy;
} nics[] = {
	{ "0x15b3", "load its modules: 'modprobe mlx5_ib' (mlx4_ib for ConnectX-3)" },
	{ "0x1077", "load its module: 'modprobe qedr'" },
};

static void check_device(struct doctor *doctor, const char *name)
{
	char node[128], path[PATH_MAX];

	snprintf(path, sizeof(path), DEVICES "/%s/node_type", name);
	doctor_read_line(doctor, path, node, sizeof(node));
	doctor_report(doctor, DOCTOR_OK, NULL, "%s (%s)", name, *node ? node : "of unknown type");
	doctor->devices++;
}

/* Report a network card for RDMA that the kernel does not show as an RDMA device. */
static void check_pci(struct doctor *doctor, const char *name)
{
	char path[PATH_MAX], vendor[16], class[16], ours[PATH_MAX];

	snprintf(path, sizeof(path), PCI "/%s/vendor", name);
	doctor_read_line(doctor, path, vendor, sizeof(vendor));
	snprintf(path, sizeof(path), PCI "/%s/class", name);
	doctor_read_line(doctor, path, class, sizeof(class));
	snprintf(ours, sizeof(ours), PCI "/%s/infiniband", name);
	if (strncmp(class, "0x02", 4) || doctor_has(doctor, ours))
		return;
	for (size_t i = 0; i < sizeof(nics) / sizeof(*nics); i++)
		if (!strcmp(vendor, nics[i].vendor))
			doctor_report(doctor, DOCTOR_PROBLEM, nics[i].remedy,
				      "the network card at PCI %s has no RDMA device", name);
}

void doctor_check_devices(struct doctor *doctor)
{
	doctor_each(doctor, DEVICES, check_device);
	doctor_each(doctor, PCI, check_pci);
	if (!doctor->devices)
		doctor_report(doctor, DOCTOR_NOTE,
			      "'verbatim record' and 'verbatim run' use the software device "
			      "automatically",
			      "this machine has no RDMA device");
}

/* Check one file of /dev/infiniband: may we open it for reading and writing? */
static void check_node(struct doctor *doctor, const char *node, const char *whose)
{
	char path[PATH_MAX];
	struct stat st;

	doctor_path(doctor, path, "/dev/infiniband/%s", node);
	if (stat(path, &st))
		doctor_report(
			doctor, DOCTOR_PROBLEM,
			"let udev create it (reload ib_uverbs and rdma_ucm), or pass it to the "
			"container: --device /dev/infiniband",
			"%s of %s is missing", path, whose);
	else if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS))
		doctor_report(doctor, DOCTOR_PROBLEM,
			      "set its mode to 0666, or join its group (a udev rule makes this "
			      "permanent)",
			      "%s of %s cannot be opened by this user: mode %04o, owner %u:%u",
			      path, whose, (unsigned int)(st.st_mode & 07777),
			      (unsigned int)st.st_uid, (unsigned int)st.st_gid);
	else
		doctor_report(doctor, DOCTOR_OK, NULL, "%s of %s can be opened", path, whose);
}

static void check_uverbs(struct doctor *doctor, const char *name)
{
	char path[PATH_MAX], device[128];

	snprintf(path, sizeof(path), UVERBS "/%s/ibdev", name);
	if (doctor_read_line(doctor, path, device, sizeof(device)))
		check_node(doctor, name, device);
}

void doctor_check_nodes(struct doctor *doctor)
{
	if (!doctor->devices)
		return;
	doctor_each(doctor, UVERBS, check_uverbs);
	if (doctor_has(doctor, "/sys/class/misc/rdma_cm"))
		check_node(doctor, "rdma_cm", "the connection manager");
}

/* Check a module; one built into the kernel is recognised by the file @made, if not NULL. */
static void check_module(struct doctor *doctor, const char *name, const char *made,
			 enum verdict without, const char *remedy)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	if (doctor_has(doctor, path) || (made && doctor_has(doctor, made)))
		doctor_report(doctor, DOCTOR_OK, NULL, "%s is loaded", name);
	else
		doctor_report(doctor, without, remedy, "%s is not loaded", name);
}

/* The module of a device's driver: the target of .../device/driver/module. */
static void check_driver(struct doctor *doctor, const char *name)
{
	char path[PATH_MAX], target[PATH_MAX];
	ssize_t n;

	doctor_path(doctor, path, DEVICES "/%s/device/driver/module", name);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return; /* the driver is built in, or has no hardware */
	target[n] = '\0';
	doctor_report(doctor, DOCTOR_OK, NULL, "%s is driven by %s", name,
		      strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
}

void doctor_check_modules(struct doctor *doctor)
{
	if (!doctor->devices)
		return;
	check_module(doctor, "ib_uverbs", UVERBS, DOCTOR_PROBLEM,
		     "'modprobe ib_uverbs': without it, no program can use a device");
	check_module(
		doctor, "rdma_ucm", "/sys/class/misc/rdma_cm", DOCTOR_NOTE,
		"'modprobe rdma_ucm', if programs use librdmacm (rping, ucmatose, -R of perftest)");
	doctor_each(doctor, DEVICES, check_driver);
}

static bool may_lock_all(const struct doctor *doctor)
{
	char line[256], path[PATH_MAX];
	unsigned long long caps = 0;
	FILE *file;

	doctor_path(doctor, path, "/proc/self/status");
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	if (file)
		fclose(file);
	return caps & (1ull << CAP_IPC_LOCK_BIT);
}

void doctor_check_memlock(struct doctor *doctor)
{
	struct rlimit limit;
	char text[FORMAT_TEXT];

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		doctor_report(doctor, DOCTOR_OK, NULL, "locked memory is not limited");
	else if (may_lock_all(doctor))
		doctor_report(doctor, DOCTOR_OK, NULL,
			      "this user may lock any amount of memory (CAP_IPC_LOCK); limit for "
			      "others: %s",
			      format_bytes(limit.rlim_cur, text));
	else
		doctor_report(
			doctor,
			doctor->devices && limit.rlim_cur < MEMLOCK_LITTLE ? DOCTOR_PROBLEM
									   : DOCTOR_NOTE,
			"'ulimit -l unlimited', 'memlock' in /etc/security/limits.conf, "
			"LimitMEMLOCK= of the service, --ulimit memlock=-1 of the container; the "
			"software device locks nothing",
			"programs of this shell can register only %s",
			format_bytes(limit.rlim_cur, text));
}
