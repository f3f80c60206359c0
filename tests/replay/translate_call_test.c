/*
 * replay/translate_call.c: the arguments of each verb that has a row there
 *
 * One device with two ports; what other modules find is set by the test.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "replay/cm/cm.h"
#include "replay/state/cut.h"
#include "replay/state/recorded.h"
#include "replay/state/sent.h"
#include "replay/state/state.h"
#include "replay/state/translate.h"
#include "replay/synth/synth.h"
#include "replay/two_host/pair.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { CONTEXT = 1, PD, QP, PEER, MR, NREPLICAS };

static struct replay replay;
static struct replica replicas[NREPLICAS];
static struct replica_qp mine, its;
static struct device device, other_device;
static struct ibv_device ibv_device;
static struct ibv_context context = { .device = &ibv_device, .num_comp_vectors = 4 };
static struct ibv_context other_context;
static struct ibv_pd pd = { .context = &context };
static struct ibv_qp qp = { .context = &context }, peer_qp = { .context = &other_context };
static struct call call;
static struct trace_event event;
static struct translation t;

/* The results of the functions of other modules, and their arguments. */
static struct {
	bool other_device, paired, synthesized, address_known, address_paired, connected_by_cm;
	uint32_t peer, meant;
	enum ibv_mtu mtu;
} found;
static struct {
	const char *tolerated, *cut_why;
	unsigned int ntolerated, nnotes, nrelated, nsettled, nsources, npaths, npair_paths;
	unsigned int nchecked, ncut;
	uint32_t related[2]; /* the last: from, to */
	uint32_t cut, cut_from;
	const struct device *from, *to;
	uint8_t to_port;
	char note[256];
} told;

const struct device *devices_of(const struct devices *devices, const struct ibv_context *of)
{
	(void)devices;
	return of == &context ? &device : of == &other_context ? &other_device : NULL;
}

uint8_t device_port(const struct device *of, uint8_t port)
{
	return of->ports[port <= PORTS_MAX ? port : 0].there ? port : 1;
}

/* GID 3 was recorded where there is GID 5 now. */
void devices_translate_source(const struct devices *devices, const char *name,
			      const struct device *from, struct ibv_ah_attr *av)
{
	(void)devices;
	assert_string_equal(name, "recorded0");
	assert_ptr_equal(from, &device);
	told.nsources++;
	if (av->grh.sgid_index == 3)
		av->grh.sgid_index = 5;
}

void devices_translate(const struct device *from, const struct device *to, uint8_t to_port,
		       struct ibv_ah_attr *av)
{
	told.npaths++;
	told.from = from;
	told.to = to;
	told.to_port = to_port;
	av->dlid = 77;
}

bool devices_find_address(struct devices *devices, const struct ibv_ah_attr *av,
			  const struct device **ret_device, uint8_t *ret_port)
{
	(void)devices;
	(void)av;
	if (found.address_known) {
		*ret_device = &other_device;
		*ret_port = 2;
	}
	return found.address_known;
}

const char *recorded_device_name(const struct replay *r, uint32_t object)
{
	(void)r;
	assert_int_equal(object, call.object);
	return "recorded0";
}

uint32_t recorded_peer(const struct replay *r, uint32_t id, int64_t time)
{
	(void)r;
	assert_int_equal(id, QP);
	assert_int_equal(time, 50);
	return found.peer;
}

uint32_t recorded_find_intended(const struct replay *r, uint32_t id, uint32_t dest,
				const struct ibv_ah_attr *av, int64_t time)
{
	(void)r;
	(void)av;
	assert_int_equal(id, QP);
	assert_int_equal(dest, 0x70);
	assert_int_equal(time, 50);
	return found.meant;
}

bool outcome_is_other_device(const struct outcome *outcome)
{
	(void)outcome;
	return found.other_device;
}

void outcome_relate_objects(struct outcome *outcome, uint32_t from, uint32_t to)
{
	(void)outcome;
	assert_int_not_equal(from, to);
	assert_false(told.nrelated && told.related[0] == from && told.related[1] == to);
	told.related[0] = from;
	told.related[1] = to;
	told.nrelated++;
}

void outcome_note_tolerated(struct outcome *outcome, const char *reason)
{
	(void)outcome;
	told.tolerated = reason;
	told.ntolerated++;
}

void outcome_note(struct outcome *outcome, const char *format, ...)
{
	va_list args;

	(void)outcome;
	va_start(args, format);
	vsnprintf(told.note, sizeof(told.note), format, args);
	va_end(args);
	told.nnotes++;
}

bool pair_is_joined(const struct replay *r, uint32_t object)
{
	(void)r;
	assert_int_equal(object, QP);
	return found.paired;
}

bool pair_connect(struct replay *r, uint32_t object, uint32_t *ret_number, enum ibv_mtu *ret_mtu)
{
	(void)r;
	assert_int_equal(object, QP);
	if (!found.paired)
		return false;
	*ret_number = 0x9a;
	*ret_mtu = found.mtu;
	return true;
}

void pair_translate_path(struct replay *r, uint32_t object, const struct device *from,
			 struct ibv_ah_attr *av)
{
	(void)r;
	assert_int_equal(object, QP);
	assert_ptr_equal(from, &device);
	assert_non_null(av);
	told.npair_paths++;
}

bool pair_translate_address(struct replay *r, const struct device *from, struct ibv_ah_attr *av)
{
	(void)r;
	assert_ptr_equal(from, &device);
	assert_non_null(av);
	return found.address_paired;
}

bool synth_connect(struct replay *r, uint32_t object, const struct ibv_qp_attr *attr,
		   uint32_t *ret_number)
{
	(void)r;
	(void)attr;
	assert_int_equal(object, QP);
	if (found.synthesized)
		*ret_number = 0x5a;
	return found.synthesized;
}

bool cm_modify(struct replay *r, uint32_t id, uint32_t peer, const struct ibv_qp_attr *attr,
	       int mask, const char **ret_needless, const char **ret_why)
{
	(void)r;
	(void)attr;
	(void)ret_why;
	assert_int_equal(id, QP);
	assert_int_equal(peer, mask & IBV_QP_DEST_QPN ? found.peer : 0);
	if (found.connected_by_cm)
		*ret_needless = "librdmacm does it";
	return found.connected_by_cm;
}

void cut_connection(struct replay *r, uint32_t id, uint32_t from, const char *why)
{
	(void)r;
	told.cut = id;
	told.cut_from = from;
	told.cut_why = why;
	told.ncut++;
}

void sent_remove_counted(struct replay *r, struct replica_qp *receiver)
{
	(void)r;
	assert_ptr_equal(receiver, &mine);
	told.nsettled++;
}

const char *process_id_text(uint32_t id, char text[PROCESS_TEXT])
{
	snprintf(text, PROCESS_TEXT, "process %u", id);
	return text;
}

void translate_memory(struct translation *of, uint64_t *args)
{
	assert_ptr_equal(of, &t);
	assert_non_null(args);
}

void translate_check_used(struct translation *of)
{
	assert_ptr_equal(of, &t);
}

void translate_check_key(struct translation *of, uint32_t process, bool remote, uint32_t key)
{
	assert_ptr_equal(of, &t);
	assert_int_equal(process, 6);
	assert_false(remote);
	assert_int_equal(key & 0xf0, 0x40);
	told.nchecked++;
}

uint64_t translate_field(void *arg, const struct field_info *field, uint64_t recorded)
{
	assert_ptr_equal(arg, &t);
	assert_int_equal(field->kind, FIELD_OBJ);
	assert_int_equal(field->object, OBJECT_wq);
	return recorded + 0x100;
}

uint64_t translate_local(struct replay *r, uint32_t process, uint64_t addr, uint64_t length,
			 uint32_t *key)
{
	(void)r;
	assert_int_equal(process, 6);
	*key += 0x1000;
	return addr + length;
}

uint32_t translate_qpn(struct replay *r, uint32_t qpn, int64_t time)
{
	(void)r;
	assert_int_equal(time, 50);
	return qpn + 0x200;
}

static int begin_call(void **state)
{
	(void)state;
	memset(&found, 0, sizeof(found));
	memset(&told, 0, sizeof(told));
	memset(replicas, 0, sizeof(replicas));
	nobjects = 0;
	for (uint32_t i = CONTEXT; i < NREPLICAS; i++)
		add_object(OBJECT_qp, 6, i)->name = i == QP ? "qp1" : "object";
	mine = (struct replica_qp){ .port = 1 };
	its = (struct replica_qp){ .port = 2 };
	context.num_comp_vectors = 4;
	ibv_device.transport_type = IBV_TRANSPORT_IB;
	replicas[CONTEXT] = (struct replica){ .handle = &context, .vectors_there = 3 };
	replicas[QP] = (struct replica){ .handle = &qp, .qp = &mine, .number = 0x11, .made = true };
	replicas[PEER] = (struct replica){
		.handle = &peer_qp, .qp = &its, .number = 0x22, .made = true, .created = true
	};
	replicas[MR] = (struct replica){ .recorded_base = 0x1000, .replayed_base = 0x31000 };
	device = (struct device){ .name = "here0",
				  .attr = { .max_qp_wr = 100,
					    .max_sge = 8,
					    .max_srq_wr = 50,
					    .max_srq_sge = 4,
					    .max_cqe = 200,
					    .max_qp_rd_atom = 6,
					    .max_qp_init_rd_atom = 5 } };
	device.ports[1] = (struct port){ .there = true, .mtu = IBV_MTU_1024, .lid = 9 };
	device.ports[2] = (struct port){ .there = true, .mtu = IBV_MTU_2048, .lid = 8 };
	device.ports[1].gid_table = 16;
	device.ports[2].gid_table = 4;
	device.ports[1].pkey_table = 2;
	other_device = (struct device){ .name = "other0" };
	replay = (struct replay){ .replicas = replicas, .nreplicas = NREPLICAS, .xrc_file = -1 };
	map_put(&replay.handles, (uintptr_t)&context, CONTEXT);
	map_put(&replay.handles, (uintptr_t)&qp, QP);
	map_put(&replay.handles, 0x4d00, MR);
	call = (struct call){ .verb = VERB_modify_qp, .object = QP };
	event = (struct trace_event){
		.kind = TRACE_CALL, .process = 6, .id = { 1, 5 }, .call = &call
	};
	t = (struct translation){ .r = &replay, .event = &event, .time = 50 };
	return 0;
}

static int end_call(void **state)
{
	(void)state;
	args_unref(call.out);
	free(mine.out[SIDE_SEND].cells);
	map_fini(&replay.handles);
	if (replay.xrc_file >= 0)
		close(replay.xrc_file);
	return 0;
}

FIXTURE(begin_call, end_call);

#define W(x) ((uint64_t)(uintptr_t)(x))

static void translate_verb(enum verb verb, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t args[8] = { a, b, c };

	call.verb = verb;
	translate_call(&t, args);
}

static void modify_it(struct ibv_qp_attr *attr, int mask)
{
	translate_verb(VERB_modify_qp, W(&qp), W(attr), (uint64_t)mask);
}

TEST(a_call_without_attributes_gets_some)
{
	uint64_t args[3] = { W(&qp), 0, 0 };

	(void)state;
	translate_call(&t, args);
	assert_int_not_equal(args[1], 0);
	args[1] = 0;
	call.verb = VERB_alloc_pd; /* it has no row */
	translate_call(&t, args);
	assert_int_equal(args[1], 0);
}

TEST(the_port_of_a_queue_pair_is_one_of_the_device)
{
	struct ibv_qp_attr attr = { .port_num = 3 };

	(void)state;
	modify_it(&attr, IBV_QP_STATE);
	assert_int_equal(attr.port_num, 3);
	modify_it(&attr, IBV_QP_PORT);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(mine.port, 3);
	attr.port_num = 2;
	modify_it(&attr, IBV_QP_PORT);
	assert_int_equal(attr.port_num, 2);
	assert_int_equal(mine.port, 2);
	attr.port_num = 3;
	call.failed = true;
	modify_it(&attr, IBV_QP_PORT);
	assert_int_equal(attr.port_num, 3);
	assert_int_equal(mine.port, 2);
}

TEST(what_has_no_replica_is_only_passed_on)
{
	struct ibv_qp_attr attr = { .port_num = 3 };

	(void)state;
	replicas[QP].qp = NULL;
	modify_it(&attr, IBV_QP_PORT);
	assert_int_equal(attr.port_num, 3);
	call.object = 0;
	modify_it(&attr, IBV_QP_PORT);
	assert_int_equal(attr.port_num, 3);
}

TEST(a_peer_of_the_replay_is_connected)
{
	struct ibv_qp_attr attr = { .dest_qp_num = 0x70, .ah_attr = { .dlid = 5 } };

	(void)state;
	found.peer = PEER;
	modify_it(&attr, IBV_QP_DEST_QPN | IBV_QP_AV);
	assert_int_equal(attr.dest_qp_num, 0x22);
	assert_int_equal(mine.peer, PEER);
	assert_int_equal(told.nsettled, 1);
	assert_int_equal(told.nrelated, 2);
	assert_int_equal(told.npaths, 1);
	assert_ptr_equal(told.from, &device);
	assert_ptr_equal(told.to, &other_device);
	assert_int_equal(told.to_port, 2);
	assert_int_equal(attr.ah_attr.port_num, 1);
	assert_int_equal(attr.ah_attr.dlid, 77);
	assert_null(t.missing);
	modify_it(&attr, IBV_QP_ALT_PATH);
	assert_int_equal(attr.alt_ah_attr.dlid, 77);
	assert_int_equal(told.nnotes, 0);
}

TEST(a_path_without_a_peer_leads_to_its_own_port)
{
	struct ibv_qp_attr attr = { .ah_attr = { .is_global = 1, .grh.sgid_index = 3 } };

	(void)state;
	mine.port = 2;
	modify_it(&attr, IBV_QP_AV);
	assert_ptr_equal(told.to, &device);
	assert_int_equal(told.to_port, 2);
	assert_int_equal(attr.ah_attr.grh.sgid_index, 5);
	assert_string_equal(told.note,
			    "GID index 3 of recorded0 is index 5 of here0 in the replay");
	attr.ah_attr = (struct ibv_ah_attr){ .grh.sgid_index = 3 };
	modify_it(&attr, IBV_QP_AV);
	attr.ah_attr = (struct ibv_ah_attr){ .is_global = 1, .grh.sgid_index = 4 };
	modify_it(&attr, IBV_QP_AV);
	assert_int_equal(told.nnotes, 1);
	call.failed = true;
	modify_it(&attr, IBV_QP_AV);
	assert_int_equal(told.nsources, 3);
}

TEST(a_failed_call_keeps_its_number)
{
	struct ibv_qp_attr attr = { .dest_qp_num = 0x70 };

	(void)state;
	call.failed = true;
	modify_it(&attr, IBV_QP_DEST_QPN);
	assert_int_equal(attr.dest_qp_num, 0x70);
	found.meant = PEER;
	modify_it(&attr, IBV_QP_DEST_QPN);
	assert_int_equal(attr.dest_qp_num, 0x22);
	assert_int_equal(told.ncut, 0);
	assert_int_equal(mine.peer, 0);
}

TEST(a_peer_that_is_to_come_keeps_its_number)
{
	struct ibv_qp_attr attr = { .dest_qp_num = 0x70 };

	(void)state;
	found.peer = PEER;
	replicas[PEER] = (struct replica){ .created = true };
	modify_it(&attr, IBV_QP_DEST_QPN);
	assert_int_equal(attr.dest_qp_num, 0x70);
	assert_int_equal(told.ncut, 0);
	replicas[PEER].why = "it was refused";
	modify_it(&attr, IBV_QP_DEST_QPN);
	assert_int_equal(told.ncut, 1);
}

static void expect_cut(uint32_t from, const char *why)
{
	assert_int_equal(told.ncut, 1);
	assert_int_equal(told.cut, QP);
	assert_int_equal(told.cut_from, from);
	assert_string_equal(told.cut_why, why);
	assert_int_equal(t.missing_object, from);
	assert_int_equal(told.npaths, 0);
}

TEST(without_a_peer_it_is_not_driven)
{
	struct ibv_qp_attr attr = { .dest_qp_num = 0x70 };

	(void)state;
	modify_it(&attr, IBV_QP_DEST_QPN | IBV_QP_AV);
	expect_cut(0, "the peer of its queue pair is not in the trace");
	assert_string_equal(t.missing, "queue pair qp1 of process 6 is connected to number 112, "
				       "which is not in the trace");
	assert_string_equal(told.note, t.missing);
}

TEST(without_its_peer_of_the_trace_it_is_not_driven)
{
	struct ibv_qp_attr attr = { .dest_qp_num = 0x70 };

	(void)state;
	found.peer = PEER;
	replicas[PEER].number = 0;
	modify_it(&attr, IBV_QP_DEST_QPN | IBV_QP_AV);
	expect_cut(PEER, "the peer of its queue pair was not created in the replay");
	assert_string_equal(t.missing, "queue pair qp1 of process 6 is connected to number 112, "
				       "which was not created in the replay");
}

TEST(the_peer_of_one_that_is_not_driven_is_not_either)
{
	struct ibv_qp_attr attr = { .dest_qp_num = 0x70 };

	(void)state;
	found.peer = PEER;
	its.cut = "a reason";
	modify_it(&attr, IBV_QP_DEST_QPN | IBV_QP_AV);
	expect_cut(PEER, "the peer of its queue pair is not replayed");
	assert_string_equal(t.missing, told.cut_why);
}

TEST(verbs_do_not_connect_an_iwarp_device)
{
	struct ibv_qp_attr attr = { .dest_qp_num = 0x70 };

	(void)state;
	found.peer = PEER;
	ibv_device.transport_type = IBV_TRANSPORT_IWARP;
	modify_it(&attr, IBV_QP_DEST_QPN);
	expect_cut(0, "ibv_modify_qp() does not connect on an iWARP device");
}

TEST(librdmacm_may_connect_it)
{
	struct ibv_qp_attr attr = { .dest_qp_num = 0x70, .path_mtu = IBV_MTU_4096 };

	(void)state;
	found.peer = PEER;
	found.connected_by_cm = true;
	modify_it(&attr, IBV_QP_DEST_QPN | IBV_QP_AV | IBV_QP_PATH_MTU);
	assert_string_equal(t.needless, "librdmacm does it");
	assert_int_equal(attr.dest_qp_num, 0x70);
	assert_int_equal(attr.path_mtu, IBV_MTU_4096);
	call.failed = true;
	t.needless = NULL;
	modify_it(&attr, IBV_QP_STATE);
	assert_null(t.needless);
}

TEST(the_other_host_gives_number_and_mtu)
{
	struct ibv_qp_attr attr = { .dest_qp_num = 0x70, .path_mtu = IBV_MTU_1024 };

	(void)state;
	found.paired = true;
	found.mtu = IBV_MTU_512;
	modify_it(&attr, IBV_QP_DEST_QPN | IBV_QP_AV);
	assert_int_equal(attr.dest_qp_num, 0x9a);
	assert_int_equal(attr.path_mtu, IBV_MTU_512);
	assert_int_equal(told.npair_paths, 1);
	assert_int_equal(told.npaths, 0);
	found.mtu = IBV_MTU_2048;
	modify_it(&attr, IBV_QP_DEST_QPN);
	assert_int_equal(attr.path_mtu, IBV_MTU_512);
	found.mtu = 0;
	modify_it(&attr, IBV_QP_DEST_QPN);
	assert_int_equal(attr.path_mtu, IBV_MTU_512);
}

TEST(a_synthesized_peer_has_a_number)
{
	struct ibv_qp_attr attr = { .dest_qp_num = 0x70 };

	(void)state;
	found.synthesized = true;
	modify_it(&attr, IBV_QP_DEST_QPN);
	assert_int_equal(attr.dest_qp_num, 0x5a);
	assert_int_equal(told.ncut, 0);
}

TEST(a_path_mtu_is_lowered_to_that_of_the_port)
{
	static const struct {
		enum ibv_mtu asked, got;
		uint8_t port;
		bool failed;
	} rows[] = {
		{ IBV_MTU_512, IBV_MTU_512, 1, false },
		{ IBV_MTU_1024, IBV_MTU_1024, 1, false },
		{ IBV_MTU_2048, IBV_MTU_1024, 1, false },
		{ IBV_MTU_4096, IBV_MTU_2048, 2, false },
		{ IBV_MTU_4096, IBV_MTU_4096, 1, true },
		{ IBV_MTU_4096 + 1, IBV_MTU_4096 + 1, 1, false },
	};
	unsigned int lowered = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ibv_qp_attr attr = { .path_mtu = rows[i].asked };

		mine.port = rows[i].port;
		call.failed = rows[i].failed;
		modify_it(&attr, IBV_QP_PATH_MTU);
		assert_int_equal(attr.path_mtu, rows[i].got);
		lowered += rows[i].got != rows[i].asked;
		assert_int_equal(told.ntolerated, lowered);
	}
	device.ports[1].mtu = 0; /* not known */
	mine.port = 1;
	call.failed = false;
	modify_it(&(struct ibv_qp_attr){ .path_mtu = IBV_MTU_4096 }, IBV_QP_PATH_MTU);
	assert_int_equal(told.ntolerated, lowered);
}

TEST(reads_in_flight_are_lowered_on_another_device)
{
	struct ibv_qp_attr attr = { .max_rd_atomic = 6, .max_dest_rd_atomic = 7 };
	const int mask = IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC;

	(void)state;
	modify_it(&attr, mask);
	assert_int_equal(attr.max_rd_atomic, 6);
	found.other_device = true;
	modify_it(&attr, IBV_QP_STATE);
	assert_int_equal(told.ntolerated, 0);
	modify_it(&attr, mask);
	assert_int_equal(attr.max_rd_atomic, 5);
	assert_int_equal(attr.max_dest_rd_atomic, 6);
	assert_int_equal(told.ntolerated, 2);
	assert_string_equal(told.tolerated, "a size above the limit of this device");
	modify_it(&attr, mask);
	assert_int_equal(told.ntolerated, 2);
	device.attr.max_qp_rd_atom = 0; /* not known */
	attr.max_dest_rd_atomic = 9;
	call.failed = true;
	attr.max_rd_atomic = 9;
	modify_it(&attr, mask);
	call.failed = false;
	modify_it(&attr, IBV_QP_MAX_DEST_RD_ATOMIC);
	assert_int_equal(attr.max_rd_atomic, 9);
	assert_int_equal(attr.max_dest_rd_atomic, 9);
}

/* The output of a call of create_qp, or create_qp_ex, with what was granted. */
static void grant_sizes(const char *json)
{
	args_unref(call.out);
	call.out = args_new(json, strlen(json));
	assert_non_null(call.out);
}

TEST(the_sizes_of_a_queue_pair_are_those_granted)
{
	struct ibv_qp_init_attr attr = { .cap = { 10, 200, 3, 9, 5 } };
	struct ibv_qp_init_attr_ex ex = { .cap = { 1, 2, 3, 4, 5 } };

	(void)state;
	grant_sizes("{\"qp_init_attr\":{\"cap\":{\"max_send_wr\":16,\"max_recv_wr\":7,"
		    "\"max_send_sge\":4,\"max_recv_sge\":12,\"max_inline_data\":64}}}");
	translate_verb(VERB_create_qp, W(&pd), W(&attr), 0); /* the same device */
	assert_int_equal(attr.cap.max_send_wr, 10);
	assert_int_equal(attr.cap.max_recv_wr, 200);
	assert_false(translate_lower(&t));
	found.other_device = true;
	translate_verb(VERB_create_qp, W(&pd), W(&attr), 0);
	assert_int_equal(attr.cap.max_send_wr, 16);
	assert_int_equal(attr.cap.max_recv_wr, 100);
	assert_int_equal(attr.cap.max_send_sge, 4);
	assert_int_equal(attr.cap.max_recv_sge, 8);
	assert_int_equal(attr.cap.max_inline_data, 64);
	assert_int_equal(told.ntolerated, 2);
	assert_true(translate_lower(&t));
	assert_int_equal(attr.cap.max_send_wr, 10);
	assert_int_equal(attr.cap.max_recv_wr, 200);
	assert_int_equal(attr.cap.max_inline_data, 5);
	assert_false(translate_lower(&t));
	grant_sizes("{\"qp_init_attr_ex\":{\"cap\":{\"max_send_wr\":101,\"max_recv_wr\":3,"
		    "\"max_send_sge\":9,\"max_recv_sge\":8,\"max_inline_data\":4}}}");
	translate_verb(VERB_create_qp_ex, W(&context), W(&ex), 0);
	assert_int_equal(ex.cap.max_send_wr, 100);
	assert_int_equal(ex.cap.max_recv_wr, 3);
	assert_int_equal(ex.cap.max_send_sge, 8);
	assert_int_equal(ex.cap.max_recv_sge, 8);
	assert_int_equal(ex.cap.max_inline_data, 5);
	translate_verb(VERB_create_qp, 0, W(&attr), 0);
	translate_verb(VERB_create_qp, W(&pd), 0, 0);
	translate_verb(VERB_create_qp_ex, 0, W(&ex), 0);
	translate_verb(VERB_create_qp_ex, W(&context), 0, 0);
}

TEST(sizes_of_srqs_and_cqs_are_lowered)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 51, .max_sge = 5 } };
	struct ibv_srq_init_attr_ex ex = { .attr = { .max_wr = 50, .max_sge = 4 } };
	struct ibv_cq_init_attr_ex cq_ex = { .cqe = 201, .comp_vector = 5 };
	uint64_t args[5] = { W(&context), 201, 0, 0, 6 };

	(void)state;
	found.other_device = true;
	translate_verb(VERB_create_srq, W(&pd), W(&srq), 0);
	assert_int_equal(srq.attr.max_wr, 50);
	assert_int_equal(srq.attr.max_sge, 4);
	assert_int_equal(told.ntolerated, 2);
	translate_verb(VERB_create_srq_ex, W(&context), W(&ex), 0);
	assert_int_equal(told.ntolerated, 2);
	ex.attr.max_wr = 52;
	translate_verb(VERB_create_srq_ex, W(&context), W(&ex), 0);
	assert_int_equal(ex.attr.max_wr, 50);
	call.verb = VERB_create_cq;
	translate_call(&t, args);
	assert_int_equal(args[1], 200);
	assert_int_equal(args[4], 2);
	translate_verb(VERB_create_cq_ex, W(&context), W(&cq_ex), 0);
	assert_int_equal(cq_ex.cqe, 200);
	assert_int_equal(cq_ex.comp_vector, 1);
	translate_verb(VERB_create_srq, 0, W(&srq), 0);
	translate_verb(VERB_create_srq_ex, 0, W(&ex), 0);
	translate_verb(VERB_create_cq, 0, 0, 0);
	translate_verb(VERB_create_cq_ex, W(&context), 0, 0);
}

static uint64_t find_vector(uint64_t recorded)
{
	uint64_t args[5] = { W(&context), 1, 0, 0, recorded };

	call.verb = VERB_create_cq;
	translate_call(&t, args);
	return args[4];
}

TEST(a_vector_that_was_refused_is_refused_again)
{
	(void)state;
	assert_int_equal(find_vector(3), 3);
	assert_int_equal(find_vector(4), 0);
	call.failed = true;
	assert_int_equal(find_vector(2), 2); /* the call did not fail because of its vector */
	assert_int_equal(find_vector(3), 4);
	assert_int_equal(find_vector(5), 6);
	assert_int_equal(find_vector(INT32_MAX - 4), INT32_MAX - 3);
	assert_int_equal(find_vector(INT32_MAX - 3), INT32_MAX - 3);
	replicas[CONTEXT].vectors_there = 4;
	assert_int_equal(find_vector(5), 5);
	replicas[CONTEXT].vectors_there = 0;
	assert_int_equal(find_vector(5), 5);
	call.failed = false;
	context.num_comp_vectors = 0;
	assert_int_equal(find_vector(5), 5);
	context.num_comp_vectors = 1;
	assert_int_equal(find_vector(5), 0);
}

static unsigned int translated_av(struct ibv_ah_attr av)
{
	unsigned int before = told.npaths;

	translate_verb(VERB_create_ah, W(&pd), W(&av), 0);
	return told.npaths - before;
}

TEST(an_address_leads_to_the_port_that_had_it)
{
	(void)state;
	found.address_known = true;
	assert_int_equal(translated_av((struct ibv_ah_attr){ .dlid = 4, .port_num = 1 }), 1);
	assert_ptr_equal(told.to, &other_device);
	assert_int_equal(told.to_port, 2);
	assert_int_equal(told.nnotes, 0);
	found.address_known = false;
	assert_int_equal(translated_av((struct ibv_ah_attr){ .dlid = 4, .port_num = 3 }), 1);
	assert_ptr_equal(told.to, &device);
	assert_int_equal(told.to_port, 3);
	assert_string_equal(told.note, "an address handle goes to LID 4, which no recorded "
				       "process queried; the replay uses its own port");
	found.address_paired = true;
	assert_int_equal(translated_av((struct ibv_ah_attr){ .dlid = 4 }), 0);
	assert_int_equal(told.nnotes, 1);
	found.address_known = true;
	call.failed = true;
	assert_int_equal(translated_av((struct ibv_ah_attr){ .dlid = 4 }), 0);
	call.failed = false;
	translate_verb(VERB_create_ah, 0, 1, 0);
	translate_verb(VERB_create_ah, W(&pd), 0, 0);
	translate_verb(VERB_resolve_eth_l2_from_gid, 0, 1, 0);
	translate_verb(VERB_resolve_eth_l2_from_gid, W(&context), 0, 0);
	assert_int_equal(told.npaths, 2);
	translate_verb(VERB_resolve_eth_l2_from_gid, W(&context), W(&(struct ibv_ah_attr){ 0 }), 0);
	assert_int_equal(told.npaths, 3);
}

TEST(a_multicast_group_is_the_same_everywhere)
{
	static const struct {
		struct ibv_ah_attr av;
		unsigned int translated;
	} rows[] = {
		{ { .dlid = 0xbfff }, 1 },
		{ { .dlid = 0xc000 }, 0 },
		{ { .dlid = 0xfffe }, 0 },
		{ { .dlid = 0xffff }, 1 },
		{ { .dlid = 0xc000, .is_global = 1 }, 1 },
		{ { .is_global = 1, .grh.dgid.raw = { 0xff, 2 } }, 0 },
		{ { .is_global = 1, .grh.dgid.raw = { 0xfe, 0xff } }, 1 },
		{ { .is_global = 1, .grh.dgid.raw = { [10] = 0xff, 0xff, 224, 1 } }, 0 },
		{ { .is_global = 1, .grh.dgid.raw = { [10] = 0xff, 0xff, 239, 1 } }, 0 },
		{ { .is_global = 1, .grh.dgid.raw = { [10] = 0xff, 0xff, 240, 1 } }, 1 },
		{ { .is_global = 1, .grh.dgid.raw = { [10] = 0xff, 0xff, 223, 1 } }, 1 },
		{ { .is_global = 1, .grh.dgid.raw = { [10] = 0xff, 0xfe, 224, 1 } }, 1 },
	};

	(void)state;
	found.address_known = true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(translated_av(rows[i].av), rows[i].translated);
}

TEST(a_completion_comes_from_the_own_port)
{
	struct ibv_wc wc = { .slid = 1, .src_qp = 3 };
	struct ibv_grh grh = { 0 };
	uint64_t args[4] = { W(&pd), W(&wc), W(&grh), 2 };
	struct port *port = &device.ports[2];

	(void)state;
	port->best_gid = 1;
	port->gids.at[1] = (struct gid){ .raw.raw = { 1, 2, 3 }, .kind = GID_ROCE_V2 };
	call.verb = VERB_create_ah_from_wc;
	call.failed = true;
	translate_call(&t, args);
	assert_int_equal(wc.slid, 1);
	call.failed = false;
	translate_call(&t, args);
	assert_int_equal(wc.slid, 8);
	assert_int_equal(wc.src_qp, 0x203);
	assert_int_equal(wc.wc_flags, 0);
	assert_int_equal(grh.hop_limit, 0);
	port->ethernet = true;
	translate_call(&t, args);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH);
	assert_int_equal(grh.hop_limit, 64);
	assert_int_equal(grh.next_hdr, 17);
	assert_int_equal(grh.version_tclass_flow, 0x60);
	assert_memory_equal(&grh.sgid, &port->gids.at[1].raw, 16);
	assert_memory_equal(&grh.dgid, &port->gids.at[1].raw, 16);
	port->gids.at[1].kind = GID_IB;
	wc = (struct ibv_wc){ .wc_flags = IBV_WC_GRH };
	call.verb = VERB_init_ah_from_wc;
	translate_call(&t, (uint64_t[]){ W(&context), 2, W(&wc), W(&grh) });
	assert_int_equal(wc.slid, 8);
	assert_int_equal(grh.next_hdr, 0x1b);
	wc = (struct ibv_wc){ 0 };
	translate_call(&t, (uint64_t[]){ 0, 2, W(&wc), W(&grh) });
	assert_int_equal(wc.slid, 0);
	translate_call(&t, (uint64_t[]){ W(&context), 2, 0, 0 });
	translate_call(&t, (uint64_t[]){ W(&context), 2, W(&wc), 0 });
	assert_int_equal(wc.slid, 8);
	call.verb = VERB_create_ah_from_wc;
	translate_call(&t, (uint64_t[]){ 0, W(&wc), 0, 2 });
}

TEST(a_parent_domain_has_no_allocators)
{
	struct ibv_parent_domain_init_attr attr = {
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT
	};

	(void)state;
	translate_verb(VERB_alloc_parent_domain, W(&context), W(&attr), 0);
	assert_int_equal(attr.comp_mask, IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT);
	translate_verb(VERB_alloc_parent_domain, W(&context), 0, 0);
}

TEST(xrc_domains_share_one_file)
{
	struct ibv_xrcd_init_attr attr = { .fd = -1 };

	(void)state;
	translate_verb(VERB_open_xrcd, W(&context), W(&attr), 0);
	assert_int_equal(attr.fd, -1);
	assert_int_equal(replay.xrc_file, -1);
	attr.fd = 1000;
	translate_verb(VERB_open_xrcd, W(&context), W(&attr), 0);
	assert_true(attr.fd >= 0 && attr.fd == replay.xrc_file);
	assert_int_equal(write(attr.fd, "x", 1), 1);
	assert_int_equal(fcntl(attr.fd, F_GETFD), FD_CLOEXEC);
	attr.fd = 0;
	translate_verb(VERB_open_xrcd, W(&context), W(&attr), 0);
	assert_int_equal(attr.fd, replay.xrc_file);
	translate_verb(VERB_open_xrcd, W(&context), 0, 0);
}

TEST(a_table_has_the_queues_of_the_replay)
{
	struct ibv_wq *table[4] = { (void *)1, (void *)2, (void *)3, (void *)4 };
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = 1, .ind_tbl = table };

	(void)state;
	translate_verb(VERB_create_rwq_ind_table, W(&context), W(&attr), 0);
	assert_int_equal(W(table[0]), 0x101);
	assert_int_equal(W(table[1]), 0x102);
	assert_int_equal(W(table[2]), 3);
	attr.log_ind_tbl_size = 0x20;
	translate_verb(VERB_create_rwq_ind_table, W(&context), W(&attr), 0);
	assert_int_equal(W(table[0]), 0x201);
	assert_int_equal(W(table[1]), 0x102);
	attr.ind_tbl = NULL;
	translate_verb(VERB_create_rwq_ind_table, W(&context), W(&attr), 0);
	translate_verb(VERB_create_rwq_ind_table, W(&context), 0, 0);
}

TEST(a_bind_is_a_request_of_its_queue_pair)
{
	struct ibv_mw_bind bind = { .wr_id = 7,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { .mr = (void *)0x4d00, .addr = 0x1010 } };
	const struct request *request;

	(void)state;
	call.object = MR; /* in place of the window */
	translate_verb(VERB_bind_mw, W(&qp), 0x55, W(&bind));
	assert_int_equal(bind.bind_info.addr, 0x31010);
	assert_int_equal(mine.out[SIDE_SEND].tail, 1);
	request = requests_get(&mine.out[SIDE_SEND], 0);
	assert_non_null(request);
	assert_int_equal(request->wr_id, 7);
	assert_int_equal(request->posted, 7);
	assert_int_equal(request->event.n, 5);
	assert_true(request->signaled);
	assert_int_equal(told.nrelated, 1);
}

TEST(a_bind_without_a_region_keeps_its_address)
{
	struct ibv_mw_bind bind = { .bind_info = { .addr = 0x1010 } };

	(void)state;
	call.object = PEER;
	translate_verb(VERB_bind_mw, W(&qp), 0x55, W(&bind));
	call.object = MR;
	assert_int_equal(bind.bind_info.addr, 0x1010);
	assert_false(requests_get(&mine.out[SIDE_SEND], 0)->signaled);
	mine.signals_all = true;
	bind.bind_info.mr = (void *)0x9999;
	translate_verb(VERB_bind_mw, W(&qp), 0x55, W(&bind));
	assert_int_equal(bind.bind_info.addr, 0x1010);
	assert_true(requests_get(&mine.out[SIDE_SEND], 1)->signaled);
	translate_verb(VERB_bind_mw, W(&qp), 0x55, 0);
	translate_verb(VERB_bind_mw, 0x1234, 0x55, W(&bind)); /* no queue pair of the replay */
	assert_int_equal(mine.out[SIDE_SEND].tail, 2);
	assert_null(t.missing);
	mine.cut = "a reason";
	call.object = PEER;
	translate_verb(VERB_bind_mw, W(&qp), 0x55, W(&bind));
	assert_string_equal(t.missing, "a reason");
	assert_int_equal(t.missing_object, QP);
	assert_int_equal(mine.out[SIDE_SEND].tail, 2);
}

TEST(advice_is_about_the_memory_of_the_replay)
{
	struct ibv_sge sge[3] = { { 0x1000, 8, 0x41 }, { 0x2000, 16, 0x42 }, { 0x3000, 4, 0x43 } };

	(void)state;
	call.verb = VERB_advise_mr;
	translate_call(&t, (uint64_t[]){ W(&pd), 0, 0, W(sge), 2 });
	assert_int_equal(sge[0].addr, 0x1008);
	assert_int_equal(sge[0].lkey, 0x1041);
	assert_int_equal(sge[1].addr, 0x2010);
	assert_int_equal(sge[2].addr, 0x3000);
	assert_int_equal(told.nchecked, 2);
	translate_call(&t, (uint64_t[]){ W(&pd), 0, 0, 0, 2 });
}

TEST(a_shared_queue_pair_is_opened_by_its_number)
{
	struct ibv_qp_open_attr attr = { .qp_num = 0x12 };

	(void)state;
	translate_verb(VERB_open_qp, W(&context), W(&attr), 0);
	assert_int_equal(attr.qp_num, 0x212);
	translate_verb(VERB_open_qp, W(&context), 0, 0);
}

static uint64_t find_port(enum verb verb, uint64_t port, uint64_t index)
{
	uint64_t args[3] = { W(&context), port, index };

	call.verb = verb;
	t.needless = NULL;
	translate_call(&t, args);
	assert_int_equal(args[2], index);
	return args[1];
}

TEST(ports_are_those_of_the_device)
{
	static const enum verb verbs[] = { VERB_query_port, VERB_query_port_compat, VERB_query_gid,
					   VERB_query_gid_ex, VERB_query_pkey };

	(void)state;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		assert_int_equal(find_port(verbs[i], 2, 0), 2);
		assert_int_equal(find_port(verbs[i], 3, 0), 1);
		call.failed = true;
		assert_int_equal(find_port(verbs[i], 3, 0), 3);
		call.failed = false;
		translate_verb(verbs[i], 0, 3, 0);
	}
}

TEST(an_index_beyond_a_table_is_needless)
{
	static const char beyond[] = "an index beyond a table of this port";

	(void)state;
	find_port(VERB_query_gid, 1, 16);
	assert_null(t.needless); /* the same device */
	found.other_device = true;
	find_port(VERB_query_gid, 1, 15);
	assert_null(t.needless);
	find_port(VERB_query_gid, 1, 16);
	assert_string_equal(t.needless, beyond);
	find_port(VERB_query_gid, 2, 4);
	assert_string_equal(t.needless, beyond);
	find_port(VERB_query_gid_ex, 3, 16);
	assert_string_equal(t.needless, beyond);
	find_port(VERB_query_pkey, 1, 1);
	assert_null(t.needless);
	find_port(VERB_query_pkey, 1, 2);
	assert_string_equal(t.needless, beyond);
	call.failed = true;
	find_port(VERB_query_pkey, 1, 2);
	assert_null(t.needless);
	call.ret = ENODATA; /* an empty entry */
	find_port(VERB_query_pkey, 1, 2);
	assert_string_equal(t.needless, beyond);
}
