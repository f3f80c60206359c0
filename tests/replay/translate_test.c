/*
 * replay/state/translate.c: recorded handles, keys, addresses and numbers, and those of the replay
 *
 * MR and MW belong to process 1, of which process 2 was forked; FAR is of process 3.
 */
#include <errno.h>

#include "replay/process/process.h"
#include "replay/state/recorded.h"
#include "replay/state/state.h"
#include "replay/state/translate.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { DEVICE = 1, MR, MW, FAR, QP, PD, NOBJECTS };

static struct replay replay;
static struct replica replicas[NOBJECTS];
static struct memory *const memories[4] = { NULL, (void *)&replicas[1], (void *)&replicas[2],
					    (void *)&replicas[3] };
static struct ibv_mr mr, far;
static struct ibv_mw mw;
static struct device device;
static struct ibv_device ibv_device;
static bool has_processes, is_elsewhere, is_without;
static uint32_t datagram;
static struct divergence told;
static char told_recorded[96], told_replayed[96];
static unsigned int ntold;
static struct call call;
static struct post post;
static struct trace_event event;
static struct translation t;

void *memory_at(const struct memory *memory, uint64_t addr)
{
	assert_non_null(memory);
	return addr == 0x9000 ? (void *)(uintptr_t)0x99000 : NULL;
}

void *memory_span(const struct memory *memory, uint64_t addr, uint64_t length)
{
	return length <= 8 ? memory_at(memory, addr) : NULL;
}

void *memory_scratch(struct memory *memory, uint64_t length)
{
	assert_non_null(memory);
	assert_true(length);
	return (void *)(uintptr_t)0x5c5000;
}

bool memory_holds(const struct memory *memory, const void *at, uint64_t length)
{
	return memory == memories[1] && at == (void *)(uintptr_t)0x31010 && length <= 16;
}

bool process_has(uint32_t process, const void *handle)
{
	assert_int_equal(process, event.process);
	assert_non_null(handle);
	return !is_elsewhere;
}

bool processes_are_used(void)
{
	return has_processes;
}

const struct device *devices_find_role(struct devices *devices, const char *name)
{
	(void)devices;
	assert_string_equal(name, "object");
	return &device;
}

bool devices_lack(const struct devices *devices, const char *name)
{
	(void)devices;
	(void)name;
	return is_without;
}

uint32_t recorded_datagram(const struct replay *r, uint32_t id, uint32_t number,
			   const struct ibv_ah_attr *av, int64_t time)
{
	(void)r;
	assert_int_equal(id, 0);
	assert_null(av);
	assert_int_equal(time, 50);
	return number == 0x77 ? datagram : 0;
}

enum verb trace_verb(const struct trace_event *of)
{
	return of->call->verb;
}

const struct process *trace_process(const struct trace *trace, uint32_t id)
{
	static const struct process processes[] = { { .id = 1 },
						    { .id = 2, .parent = 1 },
						    { .id = 3, .parent = 3 } };

	(void)trace;
	return id >= 1 && id <= 3 ? &processes[id - 1] : NULL;
}

void outcome_add_divergence(struct outcome *outcome, const struct divergence *divergence)
{
	(void)outcome;
	told = *divergence;
	snprintf(told_recorded, sizeof(told_recorded), "%s", divergence->recorded);
	snprintf(told_replayed, sizeof(told_replayed), "%s", divergence->replayed);
	ntold++;
}

static int begin_translation(void **state)
{
	static uint32_t made[] = { MW, DEVICE, MR, FAR };
	static const enum object_kind kinds[] = { OBJECT_device, OBJECT_mr, OBJECT_mw,
						  OBJECT_mr,     OBJECT_qp, OBJECT_pd };

	(void)state;
	nobjects = ntold = 0;
	has_processes = is_elsewhere = is_without = false;
	datagram = 0;
	for (uint32_t i = DEVICE; i < NOBJECTS; i++)
		add_object(kinds[i - 1], i == FAR ? 3 : 1, 100 + i)->created.thread = 1;
	objects[MW].number = 0x1203;
	memset(replicas, 0, sizeof(replicas));
	for (uint32_t i = DEVICE; i < NOBJECTS; i++)
		replicas[i] = (struct replica){ .handle = &replicas[i], .made = true };
	mr = (struct ibv_mr){ .addr = (void *)(uintptr_t)0x31000 };
	mw = (struct ibv_mw){ .type = IBV_MW_TYPE_1, .rkey = 0x4455 };
	replicas[MR] = (struct replica){ .handle = &mr,
					 .made = true,
					 .number = 0x107,
					 .rkey = 0x207,
					 .recorded_base = 0x1000,
					 .replayed_base = 0x31000 };
	replicas[MW] = (struct replica){ .handle = &mw, .made = true, .rkey = 1 };
	replicas[FAR] = (struct replica){ .handle = &far,
					  .made = true,
					  .number = 0x109,
					  .rkey = 0x209,
					  .recorded_base = 0x2000,
					  .replayed_base = 0x42000 };
	device = (struct device){ .device = &ibv_device };
	replay = (struct replay){ .replicas = replicas,
				  .nreplicas = NOBJECTS,
				  .made = made,
				  .nmade = 4,
				  .memory = (struct memory **)memories,
				  .nprocesses = 4 };
	map_put(&replay.lkeys, process_key(1, 7), MR);
	map_put(&replay.rkeys, process_key(1, 7), MR);
	map_put(&replay.rkeys, process_key(1, 0x55), MW);
	map_put(&replay.lkeys, process_key(3, 9), FAR);
	map_put(&replay.rkeys, process_key(3, 9), FAR);
	call = (struct call){ .verb = VERB_modify_qp };
	event = (struct trace_event){ .kind = TRACE_CALL, .process = 1, .call = &call };
	t = (struct translation){ .r = &replay, .event = &event, .time = 50 };
	return 0;
}

static int end_translation(void **state)
{
	(void)state;
	map_fini(&replay.lkeys);
	map_fini(&replay.rkeys);
	map_fini(&replay.numbers);
	map_fini(&replay.handles);
	return 0;
}

FIXTURE(begin_translation, end_translation);

static uint64_t find_handle(enum object_kind kind, uint64_t recorded)
{
	const struct field_info field = { .name = "x", .kind = FIELD_OBJ, .object = kind };

	t.missing = NULL;
	t.missing_object = 0;
	return translate_field(&t, &field, recorded);
}

TEST(a_handle_is_that_of_its_object)
{
	(void)state;
	assert_int_equal(find_handle(OBJECT_qp, 0), 0);
	assert_null(t.missing);
	assert_int_equal(find_handle(OBJECT_qp, 100 + QP), (uintptr_t)&replicas[QP]);
	assert_int_equal(t.nused, 1);
	assert_int_equal(t.used[0], QP);
	assert_int_equal(find_handle(OBJECT_device, 100 + DEVICE), (uintptr_t)&ibv_device);
	assert_int_equal(t.nused, 1);
	for (int i = 0; i < TRANSLATE_USED + 2; i++)
		assert_int_equal(find_handle(OBJECT_pd, 100 + PD), (uintptr_t)&replicas[PD]);
	assert_int_equal(t.nused, TRANSLATE_USED);
	assert_int_equal(ntold, 0);
}

TEST(a_device_that_was_only_listed_is_needless)
{
	(void)state;
	is_without = true;
	assert_int_equal(find_handle(OBJECT_device, 100 + DEVICE), 0);
	assert_non_null(t.needless);
	t.needless = NULL;
	find_handle(OBJECT_qp, 100 + QP);
	assert_null(t.needless);
}

TEST(a_handle_that_the_trace_does_not_have_is_a_divergence)
{
	(void)state;
	assert_int_equal(find_handle(OBJECT_qp, 0x999), 0);
	assert_string_equal(t.missing, "it is not in the trace (qp)");
	assert_int_equal(t.missing_object, 0);
	assert_int_equal(ntold, 1);
	assert_string_equal(told.field, "qp");
	assert_string_equal(told_recorded, "0x999");
	assert_string_equal(told_replayed, "it is not in the trace");
	assert_int_equal(told.object, 0);
	assert_int_equal(told.class, DIVERGENCE_FAILED_REPLAYED);
	assert_true(told.breaks);
	replay.gaps = "events were lost";
	assert_int_equal(find_handle(OBJECT_qp, 0x999), 0);
	assert_non_null(t.missing);
	assert_int_equal(ntold, 1);
}

TEST(an_object_whose_creation_is_missing_is_reported_once)
{
	(void)state;
	replicas[QP] = (struct replica){ 0 };
	assert_int_equal(find_handle(OBJECT_qp, 100 + QP), 0);
	assert_string_equal(t.missing, "the call that created its object is not in the trace (qp)");
	assert_int_equal(t.missing_object, QP);
	assert_int_equal(ntold, 1);
	assert_int_equal(told.object, QP);
	assert_string_equal(told_recorded, "object of process 1");
	assert_string_equal(told_replayed, replicas[QP].why);
	find_handle(OBJECT_qp, 100 + QP);
	assert_int_equal(ntold, 1);
	replicas[QP].why = NULL;
	replay.gaps = "events were lost";
	find_handle(OBJECT_qp, 100 + QP);
	assert_string_equal(t.missing, "events were lost (qp)");
	assert_int_equal(ntold, 1);
}

static void expect_uncreated(const char *why)
{
	replicas[QP].handle = NULL;
	assert_int_equal(find_handle(OBJECT_qp, 100 + QP), 0);
	assert_string_equal(t.missing, why);
	assert_int_equal(ntold, 0);
	assert_int_equal(t.missing_object, QP);
}

TEST(an_object_that_the_replay_does_not_have_is_missing)
{
	static const char uncreated[] = "its object was not created in the replay (qp)";

	(void)state;
	expect_uncreated(uncreated); /* it was destroyed */
	replicas[QP].made = false;
	replicas[QP].created = true; /* its creation failed */
	expect_uncreated(uncreated);
	replicas[QP].created = false;
	objects[QP].created.thread = 0; /* it is older than the recording */
	expect_uncreated(uncreated);
	replicas[QP].why = "a reason";
	expect_uncreated("a reason (qp)");
}

TEST(a_process_may_not_have_the_object)
{
	(void)state;
	is_elsewhere = true;
	assert_int_equal(find_handle(OBJECT_qp, 100 + QP), 0);
	assert_string_equal(t.missing, "its process in the replay does not have it (qp)");
	assert_int_equal(t.missing_object, QP);
}

TEST(a_child_uses_objects_of_its_parent)
{
	(void)state;
	objects[QP].process = 2;
	assert_true(translate_is_inherited(&replay, QP, 1));
	assert_false(translate_is_inherited(&replay, QP, 2));
	call.failed = true; /* it may use its own nevertheless */
	assert_int_equal(find_handle(OBJECT_pd, 100 + PD), (uintptr_t)&replicas[PD]);
	has_processes = true;
	assert_false(translate_is_inherited(&replay, QP, 1));
}

TEST(an_object_that_is_gone_meanwhile_is_missing)
{
	(void)state;
	find_handle(OBJECT_pd, 100 + PD);
	find_handle(OBJECT_qp, 100 + QP);
	translate_check_used(&t);
	assert_null(t.missing);
	replicas[QP].handle = NULL;
	translate_check_used(&t);
	assert_non_null(t.missing);
	assert_int_equal(t.missing_object, QP);
}

static uint64_t find_address(const char *name, uint64_t recorded)
{
	const struct field_info field = { .name = name, .kind = FIELD_ADDR };

	return translate_field(&t, &field, recorded);
}

TEST(addresses_are_translated_by_their_meaning)
{
	(void)state;
	replay.scratch = &told;
	assert_int_equal(find_address("addr", 0x9000), 0x99000);
	assert_int_equal(find_address("base", 0x9000), 0x99000);
	assert_int_equal(find_address("addr", 0x9001), 0x9001); /* it was not memory */
	assert_int_equal(find_address("cq_context", 0x9000), 0x9000);
	assert_int_equal(find_address("element", 0x9000), 0x9000);
	assert_int_equal(find_address("alloc", 0x9000), 0);
	assert_int_equal(find_address("free", 0x9000), 0);
	assert_int_equal(find_address("other", 0x9000), (uintptr_t)&told);
	assert_int_equal(find_address("addr", 0), 0);
}

TEST(a_domain_that_does_not_change_is_ignored)
{
	uint64_t args[4] = { 0, IBV_REREG_MR_CHANGE_ACCESS };

	(void)state;
	call.verb = VERB_rereg_mr;
	assert_int_equal(find_handle(OBJECT_pd, 100 + PD), (uintptr_t)&replicas[PD]);
	t.args = args;
	assert_int_equal(find_handle(OBJECT_pd, 100 + PD), 0);
	assert_int_not_equal(find_handle(OBJECT_mr, 100 + MR), 0);
	args[1] = IBV_REREG_MR_CHANGE_PD;
	assert_int_not_equal(find_handle(OBJECT_pd, 100 + PD), 0);
	args[1] = 0;
	call.verb = VERB_modify_qp;
	assert_int_not_equal(find_handle(OBJECT_pd, 100 + PD), 0);
}

TEST(a_handle_of_the_replay_is_known)
{
	(void)state;
	map_put(&replay.handles, (uintptr_t)&mr, MR);
	assert_true(translate_has_object(&replay, &mr, OBJECT_mr));
	assert_false(translate_has_object(&replay, &mr, OBJECT_mw));
	assert_false(translate_has_object(&replay, &mw, OBJECT_mr));
	replicas[MR].handle = NULL;
	assert_false(translate_has_object(&replay, &mr, OBJECT_mr));
}

static uint64_t find_local(uint32_t process, uint64_t addr, uint64_t length, uint32_t *key)
{
	return translate_local(&replay, process, addr, length, key);
}

TEST(a_buffer_is_in_the_region_of_its_key)
{
	uint32_t key = 7;

	(void)state;
	assert_int_equal(find_local(1, 0x1010, 4, &key), 0x31010);
	assert_int_equal(key, 0x107);
	key = 7;
	assert_int_equal(find_local(2, 0xff0, 4, &key), 0x30ff0); /* of the parent; outside */
	assert_int_equal(key, 0x107);
	key = 7;
	assert_int_equal(find_local(3, 0x9000, 8, &key), 0x99000); /* no key of its own */
	assert_int_equal(key, 7);
	assert_int_equal(find_local(3, 0x9000, 9, &key), 0x5c5000);
	key = 7;
	replicas[MR].implicit = true; /* its memory is that of the process */
	assert_int_equal(find_local(1, 0x9000, 8, &key), 0x99000);
	assert_int_equal(key, 0x107);
}

TEST(bytes_of_a_buffer_can_be_read_here)
{
	(void)state;
	assert_ptr_equal(translate_host(&replay, 1, 0x1010, 16, 7), (void *)(uintptr_t)0x31010);
	assert_ptr_equal(translate_host(&replay, 2, 0x1010, 16, 7), (void *)(uintptr_t)0x31010);
	assert_null(translate_host(&replay, 1, 0x1010, 17, 7));
	assert_null(translate_host(&replay, 1, 0x1011, 4, 7));
	assert_null(translate_host(&replay, 1, 0x1010, 16, 8));
	replicas[MR].handle = NULL;
	assert_null(translate_host(&replay, 1, 0x1010, 16, 7));
	replicas[MR].handle = &mr;
	replicas[MR].implicit = true;
	assert_null(translate_host(&replay, 1, 0x9000, 4,
				   7)); /* an implicit region: its memory is not in the replay */
}

static uint64_t find_remote(uint32_t process, uint64_t addr, uint32_t key, uint32_t here)
{
	uint64_t at = translate_remote(&replay, process, addr, &key);

	assert_int_equal(key, here);
	return at;
}

TEST(memory_of_the_peer_is_in_the_region_of_its_key)
{
	(void)state;
	assert_int_equal(find_remote(3, 0x2010, 9, 0x209), 0x42010);
	assert_int_equal(find_remote(1, 0x1010, 7, 0x207), 0x31010);
	assert_int_equal(find_remote(1, 0x9000, 8, 8), 0x99000); /* it was not valid */
	assert_int_equal(find_remote(1, 0x8000, 8, 8), 0x8000);
	replicas[MR].implicit = true;
	assert_int_equal(find_remote(1, 0x9000, 7, 0x207), 0x99000);
}

TEST(windows_have_the_key_of_their_last_bind)
{
	(void)state;
	assert_int_equal(translate_rkey(&replay, 1, 0x55), 0x4455);
	assert_int_equal(translate_rkey(&replay, 1, 0x12fe), 0x4455); /* by its index */
	assert_int_equal(translate_rkey(&replay, 1, 0x13fe), 0x13fe);
	assert_int_equal(translate_rkey(&replay, 3, 0x12fe), 0x12fe);
	mw.type = IBV_MW_TYPE_2; /* the program chooses the low bits */
	assert_int_equal(translate_rkey(&replay, 1, 0x12fe), 0x44fe);
	assert_int_equal(find_remote(1, 0x9000, 0x1201, 0x4401), 0x99000);
	replicas[MW].handle = NULL;
	assert_int_equal(translate_rkey(&replay, 1, 0x12fe), 1);
}

TEST(the_peer_is_of_its_own_process)
{
	struct replica_qp qp = { .peer = FAR };

	(void)state;
	assert_int_equal(translate_peer_process(&replay, &qp, 1), 3);
	qp.peer = 0;
	assert_int_equal(translate_peer_process(&replay, &qp, 1), 1);
}

TEST(a_number_is_that_of_its_queue_pair)
{
	(void)state;
	datagram = QP;
	assert_int_equal(translate_qpn(&replay, 0x77, 50), 0x77); /* it has none */
	replicas[QP].number = 0x88;
	assert_int_equal(translate_qpn(&replay, 0x77, 50), 0x88);
	assert_int_equal(translate_qpn(&replay, 0x78, 50), 0x78);
	map_put(&replay.numbers, 0x78, QP); /* the number was not valid in the recording */
	assert_int_equal(translate_qpn(&replay, 0x78, 50), 0xfffffe);
}

static struct wr wrs[2];
static const struct sge sges[] = { { .lkey = 3 }, { .lkey = 7 } };

static bool is_missing(const struct replica_qp *qp)
{
	t.missing = NULL;
	translate_check_post(&t, qp);
	return t.missing;
}

TEST(a_post_that_uses_a_missing_region_is_left_out)
{
	struct replica_qp qp = { .peer = FAR };

	(void)state;
	objects[MR].number = 7;
	objects[MR].rkey = 7;
	objects[FAR].rkey = 9;
	event.kind = TRACE_POST;
	event.post = &post;
	wrs[0] = (struct wr){ .opcode = IBV_WR_SEND };
	wrs[1] = (struct wr){ .opcode = IBV_WR_RDMA_WRITE, .rkey = 9, .nsge = 2, .sge = sges };
	post = (struct post){ .verb = VERB_post_send, .object = QP, .nwr = 2, .wr = wrs };
	assert_false(is_missing(&qp));
	replicas[MR].handle = NULL;
	replicas[MR].made = false;
	assert_false(is_missing(&qp)); /* none is lacking */
	replay.nlacking = 1;
	assert_true(is_missing(&qp));
	assert_int_equal(t.missing_object, MR);
	wrs[1].send_flags = IBV_SEND_INLINE;
	assert_false(is_missing(&qp));
	post.verb = VERB_post_recv;
	assert_true(is_missing(NULL));
	post.verb = VERB_post_send;
	replicas[FAR].made = false;
	replicas[FAR].handle = NULL;
	assert_true(is_missing(&qp));
	assert_int_equal(t.missing_object, FAR);
	wrs[1].rkey = 8;
	assert_false(is_missing(&qp));
	wrs[1].rkey = 9;
	wrs[1].opcode = IBV_WR_SEND;
	assert_false(is_missing(&qp));
	wrs[1].opcode = IBV_WR_RDMA_WRITE;
	assert_false(is_missing(NULL));
	objects[FAR].created_at = 51; /* another region had the key at that time */
	assert_false(is_missing(&qp));
	objects[FAR].created_at = 50;
	assert_true(is_missing(&qp));
	objects[FAR].destroyed_at = 50;
	assert_false(is_missing(&qp));
}
