/*
 * A device that a file describes: reading the file, and verbs that respect it. The library reads it
 * when it is loaded, so the program executes itself again with one.
 */
#define TEST_MAIN
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <arpa/inet.h>
#include <sys/stat.h>

#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/profile.h"
#include "shim/soft/fabric/registry.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

static const char machine[] = "# two ports, few of all else\n"
			      "name              mlx5_7\n"
			      "fw_ver            20.31.1014\n"
			      "node_guid         0x0002c90300fed670\n"
			      "sys_image_guid    0002:c903:00fe:d673\n"
			      "vendor_id         0x02c9\n"
			      "vendor_part_id    4123   # ConnectX-6\n"
			      "num_comp_vectors  3\n"
			      "max_inline_data   100\n"
			      "max_qp            3\n"
			      "max_qp_wr         20\n"
			      "max_sge           5\n"
			      "max_cq            4\n"
			      "max_cqe           100\n"
			      "max_mr            3\n"
			      "max_mr_size       1048576\n"
			      "max_pd            3\n"
			      "max_ah            2\n"
			      "max_srq           1\n"
			      "max_srq_wr        30\n"
			      "max_srq_sge       2\n"
			      "max_qp_rd_atom    4\n"
			      "max_qp_init_rd_atom 2\n"
			      "port.1.lid        17\n"
			      "port.1.sm_lid     3\n"
			      "port.1.max_mtu    2048\n"
			      "port.1.max_msg_sz 65536\n"
			      "port.1.gid.0      fe80::2:c903:fe:d671\n"
			      "port.1.pkey.0     0xffff\n"
			      "port.1.pkey.1     0x8001\n"
			      "port.2.lid        18\n"
			      "port.3.link_layer ethernet\n"
			      "port.3.gid.0      fe80::5054:ff:fe12:3456 rocev1\n"
			      "port.3.gid.1      fe80::5054:ff:fe12:3456 rocev2\n"
			      "port.3.gid.3      ::ffff:192.168.1.7 rocev2\n"
			      "port.4.state      down\n"
			      "port.4.lid        20\n";

static char machine_path[] = "/tmp/profile_test.XXXXXX";

static int write_text(char *path, const char *text)
{
	int fd = mkstemp(path);
	ssize_t n = write(fd, text, strlen(text));

	close(fd);
	return n == (ssize_t)strlen(text) ? 0 : -1;
}

/* The error for this text. */
static int read_text(const char *text, struct profile *out, char why[PROFILE_WHY])
{
	char path[] = "/tmp/profile_test.XXXXXX";
	int err;

	assert_int_equal(write_text(path, text), 0);
	why[0] = '\0';
	err = profile_read(path, out, why);
	unlink(path);
	return err;
}

static void expect_refused(const char *text, const char *reason)
{
	struct profile out = { .max_inline_data = 77 };
	char why[PROFILE_WHY];

	assert_int_equal(read_text(text, &out, why), -EINVAL);
	assert_int_equal(out.max_inline_data, 77);
	if (!strstr(why, reason))
		fail_msg("\"%s\" is not in \"%s\"", reason, why);
}

TEST(mistakes_are_reported_by_line)
{
	expect_refused("\n# no\nmax_qpx 3\n", ":3: max_qpx: there is no such item");
	expect_refused("\033[2J\302\233\177 3\n", ":1: ?[2J???: there is no such item");
	expect_refused("max_qp three\n", ":1: max_qp: \"three\" is not a number");
	expect_refused("max_qp -3\n", "is not a number");
	expect_refused("max_qp 3 4\n", "is not a number");
	expect_refused("max_qp\n", "the value is missing");
	expect_refused("max_qp    # none\n", "the value is missing");
	expect_refused("max_qp 4294967296\n", "is above");
	expect_refused("port.1.lid 65536\n", "is above 65535");
	expect_refused("name a/b\n", "is not a valid name of a device");
	expect_refused("port.0.lid 1\n", "a number from 1 to 4");
	expect_refused("port.5.lid 1\n", "a number from 1 to 4");
	expect_refused("port.1.color 1\n", "there is no such item");
	expect_refused("port.1.gid.256 fe80::1\n", "is above 255");
	expect_refused("port.1.gid.0 fe80:::1\n", "is not an address");
	expect_refused("port.1.gid.0 fe80::1 rocev3\n", "is not a number");
	expect_refused("port.1.state lost\n", "is not a number");
	expect_refused("node_guid 1:2:3\n", "is not a number");
	expect_refused("num_comp_vectors 0\n", "must be at least 1");
	expect_refused(
		"fw_ver 0123456789012345678901234567890123456789012345678901234567890123456789\n",
		"longer than 63");
	expect_refused("port.1.gid_tbl_len 0\n", ":2: port.1: its tables must not be empty");
	expect_refused("port.2.pkey_tbl_len 0\n", "port.2: its tables must not be empty");
}

enum { LINE_MOST = 511 };

/* A comment of @len bytes is the last line. */
static int read_line(size_t len)
{
	char text[2048] = "max_qp 3\n", why[PROFILE_WHY];
	struct profile out;

	memset(text + strlen(text), '#', len);
	return read_text(text, &out, why) ? atoi(strchr(why, ':') + 1) : 0;
}

TEST(lines_and_tables_have_their_greatest_length)
{
	struct profile out;
	char why[PROFILE_WHY];

	assert_int_equal(read_line(LINE_MOST), 0);
	assert_int_equal(read_line(LINE_MOST + 1), 2);
	assert_int_equal(read_text("port.1.gid_tbl_len 256\nport.1.pkey_tbl_len 128\n", &out, why),
			 0);
	assert_int_equal(out.port[0].attr.gid_tbl_len, 256);
	assert_int_equal(out.port[0].attr.pkey_tbl_len, 128);
	assert_int_equal(read_text("port.1.gid_tbl_len 257\nport.1.pkey_tbl_len 129\n", &out, why),
			 0);
	assert_int_equal(out.port[0].attr.gid_tbl_len, 256);
	assert_int_equal(out.port[0].attr.pkey_tbl_len, 128);
	assert_int_equal(out.attr.orig_attr.max_pkeys, 128);
}

TEST(missing_file_is_enoent)
{
	struct profile out;
	char why[PROFILE_WHY];

	assert_int_equal(profile_read("/no/such/file", &out, why), -ENOENT);
	assert_non_null(strstr(why, "/no/such/file: No such file"));
}

TEST(fifo_is_not_waited_for)
{
	char fifo[] = "/tmp/profile_test.fifo.XXXXXX";
	struct profile out;
	char why[PROFILE_WHY];

	assert_non_null(mkdtemp(fifo));
	assert_int_equal(rmdir(fifo), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	alarm(60);
	assert_int_equal(profile_read(fifo, &out, why), -EINVAL);
	alarm(0);
	assert_non_null(strstr(why, ": not a regular file"));
	unlink(fifo);
}

/* 128 KB and not a byte more, with the one that ends it. */
TEST(file_of_any_length_ends)
{
	enum { MOST = (128 << 10) - 1 };
	static char text[MOST + 2];
	struct profile out;
	char why[PROFILE_WHY];

	memset(text, '\n', MOST);
	assert_int_equal(read_text(text, &out, why), -EFBIG);
	text[MOST - 1] = '\0';
	assert_int_equal(read_text(text, &out, why), 0);
	memset(text, '\n', MOST + 1);
	assert_int_equal(read_text(text, &out, why), -EFBIG);
}

TEST(empty_file_is_the_device_itself)
{
	struct profile out, own;
	char why[PROFILE_WHY];

	profile_fill_own(&own);
	assert_int_equal(read_text("", &out, why), 0);
	assert_memory_equal(&out.attr, &own.attr, sizeof(own.attr));
	assert_string_equal(out.name, own.name);
	assert_int_equal(out.num_ports, 0);
}

TEST(what_it_cannot_do_is_lowered)
{
	struct profile out, own;
	char why[PROFILE_WHY];

	profile_fill_own(&own);
	assert_int_equal(read_text("max_qp 262144\nmax_ee 7\ndevice_cap_flags 0xffffffff\n"
				   "hca_core_clock 5\ntm_caps.max_num_tags 100000\n"
				   "tm_caps.max_ops 7\ntso_caps.max_tso 9\n"
				   "port.1.max_mtu 4096\nport.1.max_msg_sz 0xffffffff\n",
				   &out, why),
			 0);
	assert_int_equal(out.attr.orig_attr.max_qp, own.attr.orig_attr.max_qp);
	assert_int_equal(out.attr.orig_attr.max_ee, 0);
	assert_int_equal(out.attr.orig_attr.device_cap_flags, own.attr.orig_attr.device_cap_flags);
	assert_int_equal(out.attr.hca_core_clock, own.attr.hca_core_clock);
	assert_int_equal(out.attr.tm_caps.max_num_tags, own.attr.tm_caps.max_num_tags);
	assert_int_equal(out.attr.tm_caps.max_ops, 7);
	assert_int_equal(out.attr.tso_caps.max_tso, 0);
	assert_int_equal(out.port[0].attr.max_msg_sz, 1 << 30);
}

TEST(spaces_and_line_ends_do_not_matter)
{
	struct profile out;
	char why[PROFILE_WHY];

	assert_int_equal(
		read_text("\t max_qp \t 7 \r\nnode_desc  my #1 node  # its name\nmax_cq 0x8", &out,
			  why),
		0);
	assert_int_equal(out.attr.orig_attr.max_qp, 7);
	assert_int_equal(out.attr.orig_attr.max_cq, 8);
	assert_string_equal(out.node_desc, "my");
}

TEST(device_has_its_names)
{
	struct ibv_context *context = open_context();
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr attr;

	assert_string_equal(ibv_get_device_name(context->device), "mlx5_7");
	assert_string_equal(context->device->ibdev_path, "/sys/class/infiniband/mlx5_7");
	assert_int_equal(be64toh(ibv_get_device_guid(context->device)), 0x0002c90300fed670);
	assert_int_equal(context->num_comp_vectors, 3);
	assert_int_equal(ibv_query_device(context, &attr), 0);
	assert_string_equal(attr.fw_ver, "20.31.1014");
	assert_int_equal(be64toh(attr.sys_image_guid), 0x0002c90300fed673);
	assert_int_equal(attr.vendor_id, 0x2c9);
	assert_int_equal(attr.vendor_part_id, 4123);
	assert_int_equal(attr.phys_port_cnt, 4);
	assert_int_equal(ibv_query_device_ex(context, NULL, &ex), 0);
	assert_memory_equal(&ex.orig_attr, &attr, sizeof(attr));
	assert_int_equal(ex.phys_port_cnt_ex, 4);
	ibv_close_device(context);
}

TEST(faces_follow)
{
	char text[64] = "";
	FILE *file = fopen("/sys/class/infiniband/mlx5_7/ports/3/gid_attrs/types/3", "re");

	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	assert_string_equal(text, "RoCE v2\n");
	fclose(file);
	file = fopen("/sys/class/infiniband/mlx5_7/ports/1/lid", "re");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	assert_string_equal(text, "0x11\n");
	fclose(file);
	assert_int_equal(access("/sys/class/infiniband/verbatim0", F_OK), -1);
}

TEST(ports_are_as_described)
{
	struct ibv_context *context = open_context();
	struct ibv_gid_entry entries[32];
	struct ibv_port_attr attr;
	union ibv_gid gid;
	__be16 pkey;
	ssize_t n;

	assert_int_equal(ibv_query_port(context, 1, &attr), 0);
	assert_int_equal(attr.lid, 17);
	assert_int_equal(attr.sm_lid, 3);
	assert_int_equal(attr.max_mtu, IBV_MTU_2048);
	assert_int_equal(attr.pkey_tbl_len, 2);
	assert_int_equal(ibv_query_port(context, 3, &attr), 0);
	assert_int_equal(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(attr.lid, 0);
	assert_int_equal(ibv_query_port(context, 4, &attr), 0);
	assert_int_equal(attr.state, IBV_PORT_DOWN);
	assert_int_equal(ibv_query_port(context, 5, &attr), EINVAL);
	assert_int_equal(ibv_query_pkey(context, 1, 1, &pkey), 0);
	assert_int_equal(be16toh(pkey), 0x8001);
	assert_int_equal(ibv_get_pkey_index(context, 1, htobe16(0x8001)), 1);
	assert_int_equal(ibv_query_pkey(context, 2, 1, &pkey), -1);
	assert_int_equal(ibv_query_gid(context, 1, 0, &gid), 0);
	assert_int_equal(gid.raw[15], 0x71);
	/* one, two of its own, three, two of its own */
	n = ibv_query_gid_table(context, entries, 32, 0);
	assert_int_equal(n, 8);
	assert_int_equal(entries[5].port_num, 3);
	assert_int_equal(entries[5].gid_index, 3);
	assert_int_equal(entries[5].gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(ibv_query_gid_ex(context, 3, 2, entries, 0), ENODATA);
	ibv_close_device(context);
}

static struct ibv_qp *try_qp(struct end *e, struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = e->cq, .recv_cq = e->cq, .qp_type = IBV_QPT_RC, .cap = cap
	};

	errno = 0;
	return ibv_create_qp(e->pd, &attr);
}

TEST(queue_pairs_end_at_the_limits)
{
	struct ibv_qp *qp[3];
	struct end e;

	end_open(&e); /* has one */
	assert_null(try_qp(&e, (struct ibv_qp_cap){ 21, 1, 1, 1, 0 }));
	assert_int_equal(errno, EINVAL);
	assert_null(try_qp(&e, (struct ibv_qp_cap){ 1, 21, 1, 1, 0 }));
	assert_null(try_qp(&e, (struct ibv_qp_cap){ 1, 1, 6, 1, 0 }));
	assert_null(try_qp(&e, (struct ibv_qp_cap){ 1, 1, 1, 6, 0 }));
	assert_null(try_qp(&e, (struct ibv_qp_cap){ 1, 1, 1, 1, 101 }));
	qp[0] = try_qp(&e, (struct ibv_qp_cap){ 20, 20, 5, 5, 100 });
	qp[1] = try_qp(&e, (struct ibv_qp_cap){ 1, 1, 1, 1, 0 });
	assert_non_null(qp[0]);
	assert_non_null(qp[1]);
	assert_null(try_qp(&e, (struct ibv_qp_cap){ 1, 1, 1, 1, 0 }));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_destroy_qp(qp[0]), 0);
	qp[2] = try_qp(&e, (struct ibv_qp_cap){ 1, 1, 1, 1, 0 });
	assert_non_null(qp[2]);
	assert_int_equal(ibv_destroy_qp(qp[1]), 0);
	assert_int_equal(ibv_destroy_qp(qp[2]), 0);
	end_close(&e);
}

TEST(other_objects_end_at_the_limits)
{
	struct ibv_srq_init_attr srq = { .attr = { 30, 2, 0 } };
	struct ibv_ah_attr to = { .dlid = 17, .port_num = 1 };
	struct ibv_mr *mr[2];
	struct ibv_cq *cq[3];
	struct ibv_pd *pd[2];
	struct ibv_ah *ah[2];
	struct ibv_srq *one;
	struct end e;
	int i;

	end_open(&e); /* has one of each */
	assert_null(ibv_create_cq(e.context, 101, NULL, NULL, 0));
	assert_null(ibv_create_cq(e.context, 1, NULL, NULL, 3));
	for (i = 0; i < 3; i++)
		assert_non_null(cq[i] = ibv_create_cq(e.context, 100, NULL, NULL, 2));
	assert_null(ibv_create_cq(e.context, 1, NULL, NULL, 0));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_resize_cq(cq[0], 101), EINVAL);
	for (i = 0; i < 2; i++) {
		assert_non_null(mr[i] = ibv_reg_mr(e.pd, e.buf, 64, 0));
		assert_non_null(pd[i] = ibv_alloc_pd(e.context));
		assert_non_null(ah[i] = ibv_create_ah(e.pd, &to));
	}
	assert_null(ibv_reg_mr(e.pd, e.buf, 64, 0));
	assert_null(ibv_alloc_pd(e.context));
	assert_null(ibv_create_ah(e.pd, &to));
	for (i = 0; i < 2; i++) {
		assert_int_equal(ibv_dereg_mr(mr[i]), 0);
		assert_int_equal(ibv_dealloc_pd(pd[i]), 0);
		assert_int_equal(ibv_destroy_ah(ah[i]), 0);
	}
	assert_null(ibv_reg_mr(e.pd, e.buf, END_BYTES + 1, 0));
	assert_int_equal(errno, EINVAL);
	one = ibv_create_srq(e.pd, &srq);
	assert_non_null(one);
	assert_null(ibv_create_srq(e.pd, &srq));
	assert_int_equal(ibv_destroy_srq(one), 0);
	srq.attr.max_wr = 31;
	assert_null(ibv_create_srq(e.pd, &srq));
	srq.attr = (struct ibv_srq_attr){ 30, 3, 0 };
	assert_null(ibv_create_srq(e.pd, &srq));
	for (i = 0; i < 3; i++)
		assert_int_equal(ibv_destroy_cq(cq[i]), 0);
	end_close(&e);
}

/* Reset to RTS by @port, to an address. */
static int connect_by(struct ibv_qp *qp, uint32_t dest, uint8_t port, struct ibv_ah_attr to)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = port,
		.qp_access_flags = ALL_ACCESS,
	};
	int err = ibv_modify_qp(
		qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	if (err)
		return err;
	to.port_num = port;
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = to,
	};
	err = ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER);
	return err ? err : to_rts(qp);
}

static struct ibv_ah_attr lid_attr(uint16_t dlid)
{
	return (struct ibv_ah_attr){ .dlid = dlid };
}

static struct ibv_ah_attr gid_attr(const char *text)
{
	struct ibv_ah_attr to = { .is_global = 1, .grh = { .sgid_index = 3 } };

	assert_int_equal(inet_pton(AF_INET6, text, &to.grh.dgid), 1);
	return to;
}

static void exchange_message(struct end *a, struct end *b)
{
	memset(a->buf, 'x', 64);
	memset(b->buf + 64, 0, 64);
	assert_int_equal(recv_at(b, 2, 64, 64), 0);
	assert_int_equal(send_at(a, 1, 0, 64), 0);
	expect_wc(a->cq, 1, IBV_WC_SUCCESS);
	expect_wc(b->cq, 2, IBV_WC_SUCCESS);
	assert_memory_equal(a->buf, b->buf + 64, 64);
}

TEST(traffic_flows_on_each_port)
{
	static const struct {
		uint8_t from, to;
		uint16_t lid_from, lid_to;
	} ways[] = { { 1, 1, 17, 17 }, { 2, 2, 18, 18 }, { 1, 2, 17, 18 } };
	struct end a, b;
	size_t i;

	end_open(&a);
	end_open(&b);
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		assert_int_equal(
			connect_by(a.qp, b.qp->qp_num, ways[i].from, lid_attr(ways[i].lid_to)), 0);
		assert_int_equal(
			connect_by(b.qp, a.qp->qp_num, ways[i].to, lid_attr(ways[i].lid_from)), 0);
		exchange_message(&a, &b);
		exchange_message(&b, &a);
		assert_int_equal(to_state(a.qp, IBV_QPS_RESET), 0);
		assert_int_equal(to_state(b.qp, IBV_QPS_RESET), 0);
	}
	assert_int_equal(connect_by(a.qp, b.qp->qp_num, 3, gid_attr("::ffff:192.168.1.7")), 0);
	assert_int_equal(connect_by(b.qp, a.qp->qp_num, 3, gid_attr("::ffff:192.168.1.7")), 0);
	exchange_message(&a, &b);
	end_close(&a);
	end_close(&b);
}

TEST(addresses_of_nobody_are_not_reached)
{
	struct end a, b;

	end_open(&a);
	end_open(&b);
	assert_int_equal(connect_by(a.qp, b.qp->qp_num, 5, lid_attr(17)), EINVAL);
	assert_int_equal(connect_by(a.qp, b.qp->qp_num, 3, lid_attr(17)), EINVAL);
	assert_int_equal(to_state(a.qp, IBV_QPS_RESET), 0);
	assert_int_equal(connect_by(a.qp, b.qp->qp_num, 3, gid_attr("::ffff:192.168.1.8")),
			 ETIMEDOUT);
	assert_int_equal(to_state(a.qp, IBV_QPS_RESET), 0);
	/* a port that is down */
	assert_int_equal(connect_by(a.qp, b.qp->qp_num, 1, lid_attr(20)), 0);
	assert_int_equal(connect_by(b.qp, a.qp->qp_num, 1, lid_attr(17)), 0);
	assert_int_equal(recv_at(&b, 2, 64, 64), 0);
	assert_int_equal(send_at(&a, 1, 0, 64), 0);
	expect_wc(a.cq, 1, IBV_WC_RETRY_EXC_ERR);
	end_close(&a);
	end_close(&b);
}

TEST(attributes_end_at_the_limits)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .pkey_index = 2 };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	struct end e;

	end_open(&e);
	assert_int_equal(ibv_modify_qp(e.qp, &attr, mask), EINVAL);
	attr.pkey_index = 1;
	assert_int_equal(ibv_modify_qp(e.qp, &attr, mask), 0);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_4096,
		.max_dest_rd_atomic = 4,
		.ah_attr = { .dlid = 17, .port_num = 1 },
	};
	assert_int_equal(ibv_modify_qp(e.qp, &attr, rtr), EINVAL);
	attr.path_mtu = IBV_MTU_2048;
	attr.max_dest_rd_atomic = 5;
	assert_int_equal(ibv_modify_qp(e.qp, &attr, rtr), EINVAL);
	attr.max_dest_rd_atomic = 4;
	assert_int_equal(ibv_modify_qp(e.qp, &attr, rtr), 0);
	end_close(&e);
}

TEST(messages_end_at_the_size_of_the_port)
{
	struct end a, b;

	end_open(&a);
	end_open(&b);
	assert_int_equal(connect_by(a.qp, b.qp->qp_num, 1, lid_attr(17)), 0);
	assert_int_equal(connect_by(b.qp, a.qp->qp_num, 1, lid_attr(17)), 0);
	assert_int_equal(recv_at(&b, 2, 0, 65536), 0);
	assert_int_equal(send_at(&a, 1, 0, 65536), 0);
	expect_wc(a.cq, 1, IBV_WC_SUCCESS);
	expect_wc(b.cq, 2, IBV_WC_SUCCESS);
	assert_int_equal(recv_at(&b, 2, 0, 65537), 0);
	assert_int_equal(send_at(&a, 3, 0, 65537), 0);
	expect_wc(a.cq, 3, IBV_WC_LOC_LEN_ERR);
	end_close(&a);
	end_close(&b);
}

static int tear_down(void **state)
{
	unlink(getenv("VERBATIM_SOFT_PERSONA"));
	return fabric_teardown(state);
}

GROUP(fabric_setup, tear_down);

/* Published for others: 0: the GID. */
static void expect_address(const struct registry_address *address, uint16_t lid, const char *gid)
{
	union ibv_gid wanted;

	assert_int_equal(address->node, node_self.node);
	assert_int_equal(address->instance, node_self.instance);
	assert_int_equal(address->lid, lid);
	if (lid)
		return;
	inet_pton(AF_INET6, gid, &wanted);
	assert_memory_equal(&address->gid, &wanted, sizeof(wanted));
}

TEST(addresses_of_ports_that_are_up_are_published)
{
	static const struct {
		uint16_t lid;
		uint8_t link_layer;
		const char *gid;
	} wanted[] = {
		{ 17, IBV_LINK_LAYER_INFINIBAND, NULL },
		{ 0, IBV_LINK_LAYER_INFINIBAND, "fe80::2:c903:fe:d671" },
		{ 18, IBV_LINK_LAYER_INFINIBAND, NULL },
		{ 0, IBV_LINK_LAYER_INFINIBAND, "fe80::256:424d:0:2" }, /* its own */
		{ 0, IBV_LINK_LAYER_INFINIBAND, "fe80::256:424d:0:102" },
		{ 0, IBV_LINK_LAYER_ETHERNET, "fe80::5054:ff:fe12:3456" },
		{ 0, IBV_LINK_LAYER_ETHERNET, "fe80::5054:ff:fe12:3456" },
		{ 0, IBV_LINK_LAYER_ETHERNET, "::ffff:192.168.1.7" },
	};
	struct ibv_context *context = open_context();
	const struct registry_members *members = registry_lock_members();
	struct registry_address address[16];
	uint32_t high = members->high_address;
	size_t n = sizeof(wanted) / sizeof(*wanted);

	memcpy(address, members->address, sizeof(address));
	registry_unlock_members();
	assert_int_equal(high, n);
	for (size_t i = 0; i < n; i++) {
		expect_address(&address[i], wanted[i].lid, wanted[i].gid);
		assert_int_equal(address[i].link_layer, wanted[i].link_layer);
	}
	assert_int_equal(ibv_close_device(context), 0);
}

int main(int argc, char **argv)
{
	(void)argc;
	if (!getenv("VERBATIM_SOFT_PERSONA")) {
		if (write_text(machine_path, machine) < 0 ||
		    setenv("VERBATIM_SOFT_PERSONA", machine_path, 1) < 0)
			return 1;
		execv("/proc/self/exe", argv);
		return 1;
	}
	return test_run(argv);
}
