/*
 * shim/soft/sysfs/sysfs.c: the whole tree, for several profiles
 *
 * The profile is read when a process starts, so each tree is made by a program of its own:
 *
 *	sysfs_test tree DIR N	makes tree N there; 1 if it differs
 *	sysfs_test show DIR	makes the tree there, and prints it
 */
#define TEST_MAIN
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/text.h"
#include "shim/soft/sysfs/sysfs.h"
#include "tests/test.h"
#include "tests/transcript.h"

#define FUNC   "sys/devices/pci5642:00/5642:00:00.0/"
#define UVERBS FUNC "infiniband_verbs/uverbs0/"
#define DEVICE FUNC "infiniband/verbatim0/"
#define PORT   DEVICE "ports/1/"
#define CLASS  "../../../../../class/"
#define SPEED  "/sys/class/net/lo/speed" /* reading it fails, as that of an empty entry */
#define NO_GID "0000:0000:0000:0000:0000:0000:0000:0000"

/* A file with this text, or a link to it. */
struct entry {
	const char *path, *text;
};

/* clang-format off */
static const struct entry of_infiniband[] = {
	{ "dev/infiniband/rdma_cm", "" },
	{ "dev/infiniband/uverbs0", "" },
	{ "sys/class/infiniband_mad/abi_version", "5" },
	{ "sys/class/infiniband_verbs/abi_version", "6" },
	{ "sys/class/infiniband/verbatim0",
	  "../../devices/pci5642:00/5642:00:00.0/infiniband/verbatim0" },
	{ "sys/class/infiniband_verbs/uverbs0",
	  "../../devices/pci5642:00/5642:00:00.0/infiniband_verbs/uverbs0" },
	{ "sys/class/misc/rdma_cm", "../../devices/virtual/misc/rdma_cm" },
	{ "sys/class/pci_bus/5642:00", "../../devices/pci5642:00/pci_bus/5642:00" },
	{ "sys/bus/pci/devices/5642:00:00.0", "../../../devices/pci5642:00/5642:00:00.0" },
	{ "sys/devices/pci5642:00/pci_bus/5642:00/cpuaffinity", "1" },
	{ "sys/devices/pci5642:00/pci_bus/5642:00/device", "../../../pci5642:00" },
	{ "sys/devices/virtual/misc/rdma_cm/abi_version", "4" },
	{ FUNC "class", "0x020700" },
	{ FUNC "vendor", "0x424d" },
	{ FUNC "device", "0x0001" },
	{ FUNC "subsystem_vendor", "0x424d" },
	{ FUNC "subsystem_device", "0x0001" },
	{ FUNC "revision", "0x01" },
	{ FUNC "numa_node", "-1" },
	{ FUNC "irq", "0" },
	{ FUNC "enable", "1" },
	{ FUNC "resource", "0x0000000000000000 0x0000000000000000 0x0000000000000000" },
	{ FUNC "current_link_speed", "16.0 GT/s PCIe" },
	{ FUNC "current_link_width", "16" },
	{ FUNC "max_link_speed", "16.0 GT/s PCIe" },
	{ FUNC "max_link_width", "16" },
	{ FUNC "modalias", "pci:v0000424Dd00000001sv0000424Dsd00000001bc02sc07i00" },
	{ FUNC "uevent", "DRIVER=verbatim-soft\nPCI_CLASS=20700\nPCI_ID=424D:0001\n"
			 "PCI_SLOT_NAME=5642:00:00.0" },
	{ FUNC "net/lo/ifindex", "1" },
	{ FUNC "net/lo/address", "00:00:00:00:00:00" },
	{ FUNC "subsystem", "../../../bus/pci" },
	{ UVERBS "abi_version", "1" },
	{ UVERBS "ibdev", "verbatim0" },
	{ UVERBS "dev", "231:192" },
	{ UVERBS "uevent", "MAJOR=231\nMINOR=192\nDEVNAME=infiniband/uverbs0" },
	{ UVERBS "device", "../../../5642:00:00.0" },
	{ UVERBS "subsystem", CLASS "infiniband_verbs" },
	{ DEVICE "board_id", "VBM0000000001" },
	{ DEVICE "fw_ver", "1.0.0" },
	{ DEVICE "hca_type", "verbatim-soft" },
	{ DEVICE "hw_rev", "1" },
	{ DEVICE "node_desc", "verbatim-soft" },
	{ DEVICE "node_guid", "0256:424d:0000:0001" },
	{ DEVICE "sys_image_guid", "0256:424d:0000:0001" },
	{ DEVICE "node_type", "1: CA" },
	{ DEVICE "uevent", "NAME=verbatim0" },
	{ DEVICE "device", "../../../5642:00:00.0" },
	{ DEVICE "subsystem", CLASS "infiniband" },
	{ PORT "cap_mask", "0x00010000" },
	{ PORT "lid", "0x1" },
	{ PORT "sm_lid", "0x1" },
	{ PORT "sm_sl", "0" },
	{ PORT "lid_mask_count", "0" },
	{ PORT "link_layer", "InfiniBand" },
	{ PORT "state", "4: ACTIVE" },
	{ PORT "phys_state", "5: LinkUp" },
	{ PORT "rate", "100 Gb/sec (4X EDR)" },
	{ PORT "pkeys/0", "0xffff" },
	{ PORT "pkeys/1", NULL },
	{ PORT "gids/0", "fe80:0000:0000:0000:0256:424d:0000:0001" },
	{ PORT "gids/1", "fe80:0000:0000:0000:0256:424d:0000:0101" },
	{ PORT "gids/2", NO_GID },
	{ PORT "gids/15", NO_GID },
	{ PORT "gids/16", NULL },
	{ PORT "gid_attrs/types/0", "IB/RoCE v1" },
	{ PORT "gid_attrs/types/1", "IB/RoCE v1" },
	{ PORT "gid_attrs/types/2", SPEED },
	{ PORT "gid_attrs/types/15", SPEED },
	{ PORT "gid_attrs/ndevs/0", SPEED },
	{ PORT "gid_attrs/ndevs/15", SPEED },
	{ PORT "counters/symbol_error", "0" },
	{ PORT "counters/port_xmit_wait", "0" },
	{ PORT "hw_counters/lifespan", "0" },
	{ DEVICE "ports/2", NULL },
	{ NULL, NULL }
};

static const struct entry of_ethernet[] = {
	{ PORT "cap_mask", "0x04010000" },
	{ PORT "lid", "0x0" },
	{ PORT "sm_lid", "0x0" },
	{ PORT "link_layer", "Ethernet" },
	{ PORT "gids/0", "fe80:0000:0000:0000:0056:42ff:fe4d:0001" },
	{ PORT "gids/2", "0000:0000:0000:0000:0000:ffff:7f00:0001" },
	{ PORT "gid_attrs/types/0", "IB/RoCE v1" },
	{ PORT "gid_attrs/types/1", "RoCE v2" },
	{ PORT "gid_attrs/types/3", "RoCE v2" },
	{ PORT "gid_attrs/types/4", SPEED },
	{ PORT "gid_attrs/ndevs/0", "lo" },
	{ PORT "gid_attrs/ndevs/3", "lo" },
	{ PORT "gid_attrs/ndevs/4", SPEED },
	{ NULL, NULL }
};

#define RATE(speed, width, text)							\
	{ "port.1.active_speed " speed "\nport.1.active_width " width "\n", NULL,	\
	  (const struct entry[]){ { PORT "rate", text }, { NULL, NULL } } }
#define STATE(state, text)								\
	{ "port.1.state " state "\n", NULL,						\
	  (const struct entry[]){ { PORT "state", text }, { NULL, NULL } } }
#define PHYS(state, text)								\
	{ "port.1.phys_state " state "\n", NULL,					\
	  (const struct entry[]){ { PORT "phys_state", text }, { NULL, NULL } } }

static const struct {
	const char *persona, *link;
	const struct entry *entries;
} trees[] = {
	{ "", NULL, of_infiniband },
	{ "", "roce", of_ethernet },
	RATE("1", "1", "2.5 Gb/sec (1X SDR)"),
	RATE("1", "2", "10 Gb/sec (4X SDR)"),
	RATE("2", "4", "40 Gb/sec (8X DDR)"),
	RATE("4", "8", "120 Gb/sec (12X QDR)"),
	RATE("8", "16", "20 Gb/sec (2X FDR10)"),
	RATE("16", "2", "56 Gb/sec (4X FDR)"),
	RATE("64", "2", "200 Gb/sec (4X HDR)"),
	RATE("128", "2", "400 Gb/sec (4X NDR)"),
	RATE("3", "1", "2.5 Gb/sec (1X)"),
	STATE("nop", "0: NOP"),
	STATE("down", "1: DOWN"),
	STATE("init", "2: INIT"),
	STATE("armed", "3: ARMED"),
	STATE("active_defer", "5: ACTIVE_DEFER"),
	PHYS("1", "1: Sleep"),
	PHYS("2", "2: Polling"),
	PHYS("3", "3: Disabled"),
	PHYS("4", "4: PortConfigurationTraining"),
	PHYS("6", "6: LinkErrorRecovery"),
	PHYS("7", "7: Phy Test"),
	PHYS("8", "8: <unknown>"),
};
/* clang-format on */

static int read_entry(int root, const char *path, char *text, size_t size)
{
	ssize_t n = readlinkat(root, path, text, size - 1);
	int fd;

	if (n >= 0) {
		text[n] = '\0';
		return 0;
	}
	fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		return -1;
	text[n] = '\0';
	if (n && (n == 1 || text[n - 1] != '\n' || text[n - 2] == '\n'))
		return -1; /* a file ends with one end of a line */
	if (n)
		text[n - 1] = '\0';
	return 0;
}

/* Returns how many entries are others. */
static int compare_entries(int root, const struct entry *entry)
{
	char text[1024];
	int differ = 0;

	for (; entry->path; entry++) {
		bool there = read_entry(root, entry->path, text, sizeof(text)) == 0;

		if (there == !!entry->text && (!there || !strcmp(text, entry->text)))
			continue;
		dprintf(2, "%s: '%s' instead of '%s'\n", entry->path, there ? text : "nothing",
			entry->text ? entry->text : "nothing");
		differ++;
	}
	return differ;
}

/* The mask has one word for up to 32 processors. */
static int compare_processors(int root)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	char list[32], mask[16];
	const struct entry entries[] = {
		{ FUNC "local_cpulist", list },
		{ FUNC "local_cpus", mask },
		{ NULL, NULL },
	};

	snprintf(list, sizeof(list), "0-%ld", cpus - 1);
	snprintf(mask, sizeof(mask), "%08lx", (1l << cpus % 64) - 1);
	return compare_entries(root, cpus <= 32 ? entries : &(struct entry){ NULL, NULL });
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void set_profile(const char *dir, const char *persona, const char *link)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/persona", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, persona, strlen(persona)) != (ssize_t)strlen(persona))
		_exit(2);
	close(fd);
	if (*persona)
		setenv("VERBATIM_SOFT_PERSONA", path, 1);
	else
		unsetenv("VERBATIM_SOFT_PERSONA");
	if (link)
		setenv("VERBATIM_SOFT_LINK", link, 1);
	else
		unsetenv("VERBATIM_SOFT_LINK");
	snprintf(path, sizeof(path), "%s/fabric", dir);
	setenv("VERBATIM_SOFT_FABRIC", path, 1);
}

TEST(trees_are_those_of_the_profile)
{
	const char *tmp = getenv("TMPDIR");
	int status;

	(void)state;
	for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++) {
		char dir[256];
		pid_t child;

		snprintf(dir, sizeof(dir), "%s/sysfs-XXXXXX", tmp ? tmp : "/tmp");
		assert_non_null(mkdtemp(dir));
		child = fork();
		if (!child) {
			char number[16];

			snprintf(number, sizeof(number), "%zu", i);
			set_profile(dir, trees[i].persona, trees[i].link);
			execl("/proc/self/exe", "sysfs_test", "tree", dir, number, NULL);
			_exit(2);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
		if (status)
			fail_msg("tree %zu differs", i);
	}
}

TEST(the_first_error_is_returned)
{
	int root = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(sysfs_make(root) < 0);
	assert_true(sysfs_put(root, "a/b", "text", 4) < 0);
	close(root);
}

TEST(nodes_have_the_numbers_of_the_kernel)
{
	(void)state;
	assert_int_equal(sysfs_number(SYSFS_UVERBS), 231 << 8 | 192);
	if (access("/sys/class/misc/rdma_cm", F_OK))
		assert_int_equal(sysfs_number(SYSFS_CM), 10 << 8 | 58);
	assert_string_equal(sysfs_nodes[SYSFS_UVERBS], "/dev/infiniband/uverbs0");
	assert_string_equal(sysfs_nodes[SYSFS_CM], "/dev/infiniband/rdma_cm");
}

/* Trees that are compared as a whole. */
static const struct {
	const char *persona, *link;
} whole[] = {
	{ "", NULL },
	{ "", "roce" },
	{ "name mlx5_3\nhca_type MT4123\nboard_id MT_0000000223\nnode_desc two ports\n"
	  "fw_ver 20.31.1014\nnode_guid 0x0002c90300fed670\nsys_image_guid 0x0002c90300fed673\n"
	  "vendor_id 0x12c9\nvendor_part_id 4123\nhw_ver 17\n"
	  "port.1.lid 17\nport.1.sm_lid 18\nport.1.lmc 2\nport.1.sm_sl 3\n"
	  "port.1.pkey.0 0x8001\nport.1.pkey.2 0x7fff\nport.1.state armed\n"
	  "port.1.gid.0 fe80::2:c903:fe:d671\nport.1.gid.3 fec0::1\n"
	  "port.2.link_layer ethernet\nport.2.gid.0 fe80::2:c9ff:fefe:d672 rocev1\n"
	  "port.2.gid.1 fe80::2:c9ff:fefe:d672 rocev2\nport.2.gid.3 ::ffff:192.168.1.7 rocev2\n",
	  NULL },
};

/* The machine decides the number of the node of librdmacm, and of processors. */
static bool is_of_machine(const char *path)
{
	return strstr(path, "/local_cpu") || strstr(path, "misc/rdma_cm/dev") ||
	       strstr(path, "misc/rdma_cm/uevent");
}

static int show_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	char text[1024];

	(void)st;
	(void)at;
	if (type == FTW_D || is_of_machine(path))
		return 0;
	printf("%s: %s\n", path, read_entry(AT_FDCWD, path, text, sizeof(text)) ? "?" : text);
	return 0;
}

static int show_tree(const char *dir)
{
	int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return sysfs_make(root) || chdir(dir) || nftw("dev", show_entry, 16, FTW_PHYS) ||
	       nftw("sys", show_entry, 16, FTW_PHYS);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Append what the program printed, in an order that does not depend on the file system. */
static void add_sorted(struct text *text, FILE *from)
{
	char *lines[2000];
	size_t n = 0, size = 0;

	while (n < 2000 && (lines[n] = NULL, getline(&lines[n], &size, from)) > 0)
		n++, size = 0;
	free(lines[n]);
	qsort(lines, n, sizeof(lines[0]), compare_lines);
	for (size_t i = 0; i < n; i++) {
		text_addf(text, "%s", lines[i]);
		free(lines[i]);
	}
}

static void add_tree(struct text *text, const char *persona, const char *link)
{
	char dir[256], command[600], self[256] = "";
	const char *tmp = getenv("TMPDIR");
	FILE *from;

	snprintf(dir, sizeof(dir), "%s/sysfs-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(dir));
	set_profile(dir, persona, link);
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(command, sizeof(command), "'%s' show '%s'", self, dir);
	from = popen(command, "r");
	assert_non_null(from);
	add_sorted(text, from);
	assert_int_equal(pclose(from), 0);
	nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

TEST(whole_trees)
{
	struct text text = { 0 };

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		text_addf(&text, "tree %zu\n", i);
		add_tree(&text, whole[i].persona, whole[i].link);
	}
	transcript_expect(__FILE__, &text);
}

static int make_tree(const char *dir, unsigned long i)
{
	int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return sysfs_make(root) || compare_entries(root, trees[i].entries) ||
	       compare_processors(root);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "show"))
		return show_tree(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "tree"))
		return make_tree(argv[2], strtoul(argv[3], NULL, 10));
	return test_run(argv);
}
