/* Files below /sys and /dev agree with the verbs. */
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

#define DEVICE "/sys/class/infiniband/verbatim0"

int ibv_read_sysfs_file(const char *dir, const char *name, char *buf, size_t size);

/* The first line of a file below the device. */
static const char *line_of(const char *name)
{
	static char text[256];
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", DEVICE, name);
	file = fopen(path, "re");
	if (!file)
		fail_msg("%s: %s", path, strerror(errno));
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* A number that no process has, and that none will get. */
enum { NOBODY = 1 << 30 };

static const char *tree_of_nobody(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/dev/shm/verbatim-soft-%u.sys.%d", (unsigned int)geteuid(),
		 NOBODY);
	return path;
}

/*
 * A separate process: it creates a tree, and sweeps. A parallel test may sweep at any moment, too:
 * a replacement of a tree is moved there when it is complete.
 */
static void sweep_trees(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(access(DEVICE, F_OK) != 0);
	alarm(60); /* signals do not wake a thread that waits there */
	assert_int_equal(waitpid(pid, &status, 0), pid);
	alarm(0);
	assert_int_equal(status, 0);
}

GROUP(fabric_setup, fabric_teardown);

TEST(device_files_are_the_attributes)
{
	struct ibv_context *context = open_context();
	struct ibv_device_attr attr;
	unsigned int a, b, c, d;

	assert_int_equal(ibv_query_device(context, &attr), 0);
	assert_string_equal(line_of("node_type"), "1: CA");
	assert_string_equal(line_of("fw_ver"), attr.fw_ver);
	assert_int_equal(strtoul(line_of("hw_rev"), NULL, 16), attr.hw_ver);
	assert_int_equal(sscanf(line_of("node_guid"), "%x:%x:%x:%x", &a, &b, &c, &d), 4);
	assert_int_equal((uint64_t)a << 48 | (uint64_t)b << 32 | c << 16 | d,
			 be64toh(attr.node_guid));
	assert_int_equal(strtoul(line_of("device/vendor"), NULL, 16), attr.vendor_id & 0xffff);
	assert_int_equal(strtoul(line_of("device/device"), NULL, 16), attr.vendor_part_id & 0xffff);
	assert_true(strlen(line_of("hca_type")) && strlen(line_of("board_id")) &&
		    strlen(line_of("node_desc")) && strlen(line_of("sys_image_guid")));
	ibv_close_device(context);
}

TEST(fifo_in_a_tree_of_the_dead_is_not_waited_for)
{
	char dir[] = "/dev/shm/sysfs_tree_test.XXXXXX", fifo[64];

	snprintf(fifo, sizeof(fifo), "%s/start", mkdtemp(dir));
	assert_int_equal(mkfifo(fifo, 0666), 0);
	assert_int_equal(rename(dir, tree_of_nobody()), 0);
	sweep_trees();
	assert_int_equal(access(tree_of_nobody(), F_OK), -1);
}

TEST(link_in_place_of_a_tree_is_not_followed)
{
	char elsewhere[] = "/dev/shm/sysfs_tree_test.XXXXXX", file[64];

	assert_non_null(mkdtemp(elsewhere));
	snprintf(file, sizeof(file), "%s/start", elsewhere);
	assert_int_equal(mkfifo(file, 0666), 0);
	assert_int_equal(symlink(elsewhere, tree_of_nobody()), 0);
	sweep_trees();
	assert_int_equal(access(file, F_OK), 0);
	unlink(tree_of_nobody());
	unlink(file);
	rmdir(elsewhere);
}

TEST(tree_of_another_user_stays)
{
	char dir[] = "/dev/shm/sysfs_tree_test.XXXXXX";

	if (geteuid())
		skip(); /* only root can make one */
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chown(dir, 65533, 65533), 0);
	assert_int_equal(rename(dir, tree_of_nobody()), 0);
	sweep_trees();
	assert_int_equal(rmdir(tree_of_nobody()), 0);
}

/* A program that is executed in place of another one has its pid. */
TEST(tree_of_the_program_before_goes)
{
	char path[64];
	int status;
	pid_t pid = fork();

	if (!pid) {
		snprintf(path, sizeof(path), "/dev/shm/verbatim-soft-%u.sys.%d",
			 (unsigned int)geteuid(), (int)getpid());
		if (mkdir(path, 0700) < 0 || !freopen("/dev/null", "w", stdout))
			_exit(2);
		execl("/proc/self/exe", "sysfs_tree_test", "--list", NULL);
		_exit(2);
	}
	snprintf(path, sizeof(path), "/dev/shm/verbatim-soft-%u.sys.%d", (unsigned int)geteuid(),
		 (int)pid);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(rmdir(path), -1);
	assert_int_equal(errno, ENOENT);
}

TEST(port_files_are_the_attributes)
{
	struct ibv_context *context = open_context();
	struct ibv_port_attr attr;

	assert_int_equal(ibv_query_port(context, 1, &attr), 0);
	assert_string_equal(line_of("ports/1/state"), "4: ACTIVE");
	assert_string_equal(line_of("ports/1/phys_state"), "5: LinkUp");
	assert_string_equal(line_of("ports/1/rate"), "100 Gb/sec (4X EDR)");
	assert_int_equal(strtoul(line_of("ports/1/lid"), NULL, 16), attr.lid);
	assert_int_equal(strtoul(line_of("ports/1/sm_lid"), NULL, 16), attr.sm_lid);
	assert_int_equal(strtoul(line_of("ports/1/cap_mask"), NULL, 16), attr.port_cap_flags);
	assert_string_equal(line_of("ports/1/link_layer"),
			    attr.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand");
	assert_string_equal(line_of("ports/1/counters/port_xmit_data"), "0");
	assert_string_equal(line_of("ports/1/hw_counters/out_of_sequence"), "0");
	assert_int_equal(access(DEVICE "/ports/2", F_OK), -1);
	ibv_close_device(context);
}

static void expect_gid(const char *text, const union ibv_gid *gid)
{
	char expected[40];
	int i, n = 0;

	for (i = 0; i < 16; i += 2)
		n += sprintf(expected + n, "%s%02x%02x", i ? ":" : "", gid->raw[i],
			     gid->raw[i + 1]);
	assert_string_equal(text, expected);
}

/* The kernel has the file, without content. */
static void expect_invalid(const char *name)
{
	char path[256], byte;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", DEVICE, name);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	errno = 0;
	assert_int_equal(read(fd, &byte, 1), -1);
	assert_int_equal(errno, EINVAL);
	close(fd);
}

TEST(tables_are_those_of_the_verbs)
{
	struct ibv_context *context = open_context();
	struct ibv_gid_entry entry;
	struct ibv_port_attr attr;
	char name[64];
	union ibv_gid gid;
	__be16 pkey;
	int i, set = 0;

	assert_int_equal(ibv_query_port(context, 1, &attr), 0);
	for (i = 0; i < attr.gid_tbl_len; i++) {
		assert_int_equal(ibv_query_gid(context, 1, i, &gid), 0);
		snprintf(name, sizeof(name), "ports/1/gids/%d", i);
		expect_gid(line_of(name), &gid);
		snprintf(name, sizeof(name), "ports/1/gid_attrs/types/%d", i);
		if (ibv_query_gid_ex(context, 1, i, &entry, 0)) {
			expect_invalid(name);
			snprintf(name, sizeof(name), "ports/1/gid_attrs/ndevs/%d", i);
			expect_invalid(name);
			continue;
		}
		set++;
		assert_string_equal(line_of(name), entry.gid_type == IBV_GID_TYPE_ROCE_V2
							   ? "RoCE v2"
							   : "IB/RoCE v1");
		snprintf(name, sizeof(name), "ports/1/gid_attrs/ndevs/%d", i);
		if (entry.ndev_ifindex)
			assert_int_equal(if_nametoindex(line_of(name)), entry.ndev_ifindex);
		else
			expect_invalid(name);
	}
	assert_true(set > 1);
	for (i = 0; i < attr.pkey_tbl_len; i++) {
		assert_int_equal(ibv_query_pkey(context, 1, i, &pkey), 0);
		snprintf(name, sizeof(name), "ports/1/pkeys/%d", i);
		assert_int_equal(strtoul(line_of(name), NULL, 16), be16toh(pkey));
	}
	ibv_close_device(context);
}

/* A child reads its own environment. */
TEST(roce_shows_in_all_of_them)
{
	int status, pid = fork();

	if (!pid) {
		setenv("VERBATIM_SOFT_LINK", "roce", 1);
		port_files_are_the_attributes(state);
		tables_are_those_of_the_verbs(state);
		assert_string_equal(line_of("ports/1/link_layer"), "Ethernet");
		assert_string_equal(line_of("ports/1/gid_attrs/types/1"), "RoCE v2");
		assert_string_equal(line_of("ports/1/gid_attrs/ndevs/1"), "lo");
		exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

TEST(classes_link_to_the_function)
{
	char *device = realpath(DEVICE "/device", NULL);
	char *verbs = realpath("/sys/class/infiniband_verbs/uverbs0/device", NULL);
	char *bus, link[256], path[512];
	ssize_t n;

	assert_non_null(device);
	assert_memory_equal(device, "/sys/devices/pci", 16);
	assert_string_equal(device, verbs);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", strrchr(device, '/') + 1);
	bus = realpath(path, NULL);
	assert_string_equal(device, bus);
	/* as programs look for local devices: from the bus up and down */
	snprintf(path, sizeof(path), "/sys/class/pci_bus/%.7s/../../%s/numa_node",
		 strrchr(device, '/') + 1, strrchr(device, '/') + 1);
	assert_int_equal(access(path, R_OK), 0);
	snprintf(path, sizeof(path), "%s/../%s/infiniband/verbatim0/node_guid", device,
		 strrchr(device, '/') + 1);
	assert_int_equal(access(path, R_OK), 0);
	n = readlink(DEVICE, link, sizeof(link) - 1);
	assert_true(n > 0);
	link[n] = '\0';
	assert_memory_equal(link, "../../devices/pci", 17);
	free(device);
	free(verbs);
	free(bus);
}

TEST(verbs_class_names_the_device)
{
	char text[64];

	assert_true(ibv_read_sysfs_file("/sys/class/infiniband_verbs/uverbs0", "ibdev", text,
					sizeof(text)) > 0);
	assert_string_equal(text, "verbatim0");
	assert_true(ibv_read_sysfs_file("/sys/class/infiniband_verbs", "abi_version", text,
					sizeof(text)) > 0);
	assert_string_equal(text, "6");
	assert_true(ibv_read_sysfs_file("/sys/class/infiniband_verbs/uverbs0", "dev", text,
					sizeof(text)) > 0);
	assert_string_equal(text, "231:192");
	assert_true(ibv_read_sysfs_file(DEVICE, "fw_ver", text, sizeof(text)) > 0);
	assert_string_equal(text, line_of("fw_ver"));
	assert_int_equal(ibv_read_sysfs_file(DEVICE, "no_such", text, sizeof(text)), -1);
}

/* The next reader finds the previous content. */
TEST(device_file_takes_no_harm)
{
	int fd = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
	struct stat st;
	char c;

	assert_true(fd >= 0);
	assert_int_equal(read(fd, &c, 1), 0);
	assert_true(S_ISCHR((fstat(fd, &st), st.st_mode)));
	close(fd);
}
