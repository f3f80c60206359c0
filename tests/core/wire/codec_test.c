#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "core/wire/codec.h"
#include "core/wire/hash.h"
#include "tests/test.h"

static uint64_t seed;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void choose_seed(void)
{
	const char *given = getenv("VERBATIM_SEED");

	seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 2654435761u + 1;
	print_message("VERBATIM_SEED=%llu\n", (unsigned long long)seed);
}

/* The arguments passed to the visitor, as one text: "qp=5 attr{[0]qp_state=3}". */
struct told {
	char text[1 << 16];
	size_t used;
	int depth;
};

static void add_text(struct told *told, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (told->used < sizeof(told->text) - 256)
		told->used += (size_t)vsnprintf(told->text + told->used, 256, format, args);
	va_end(args);
}

static void add_number(void *arg, const struct field_info *field, int64_t value)
{
	add_text(arg, "%s=%lld ", field->name, (long long)value);
}

static void add_bytes(void *arg, const struct field_info *field, const char *bytes, size_t n)
{
	add_text(arg, "%s=", field->name);
	for (size_t i = 0; i < n && i < 32; i++)
		add_text(arg, "%02x", (unsigned char)bytes[i]);
	add_text(arg, " ");
}

static void add_private(void *arg, const struct field_info *field, const struct codec_private *p)
{
	add_text(arg, "%s=%zu:", field->name, p->length);
	for (size_t i = 0; i < p->nbytes; i++)
		add_text(arg, "%02x", (unsigned char)p->bytes[i]);
	if (p->hashed)
		add_text(arg, "#%016llx", (unsigned long long)p->hash);
	add_text(arg, " ");
}

static void add_null(void *arg, const struct field_info *field)
{
	add_text(arg, "%s=null ", field->name);
}

static void add_begin(void *arg, const struct field_info *field, size_t count)
{
	((struct told *)arg)->depth++;
	add_text(arg, "%s*%zu{", field->name, count);
}

static void add_element(void *arg, const struct field_info *field, size_t index)
{
	(void)field;
	((struct told *)arg)->depth++;
	add_text(arg, "[%zu]", index);
}

static void add_element_end(void *arg, const struct field_info *field)
{
	(void)field;
	((struct told *)arg)->depth--;
}

static void add_end(void *arg, const struct field_info *field)
{
	(void)field;
	((struct told *)arg)->depth--;
	add_text(arg, "} ");
}

static struct told told;

static const struct codec_visitor visitor = {
	.number = add_number,
	.text = add_bytes,
	.private = add_private,
	.null = add_null,
	.begin = add_begin,
	.element = add_element,
	.element_end = add_element_end,
	.end = add_end,
	.arg = &told,
};

static ssize_t walk_words(const uint64_t *words, size_t n, const struct struct_info *info)
{
	ssize_t used;

	told.used = 0;
	told.text[0] = '\0';
	used = codec_visit(words, n, info, &visitor);
	assert_int_equal(told.depth, 0);
	return used;
}

static uint64_t words[8192];

static size_t encode_args(enum verb verb, const uint64_t *args, enum field_dir dir)
{
	struct codec_out out = { .words = words, .size = 8192 };

	codec_put_args(&out, verb, args, dir);
	assert_false(out.cut);
	return out.used;
}

TEST(masked_fields_are_absent)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .qkey = 7, .port_num = 1 };
	const uint64_t args[] = { 0x5000, (uintptr_t)&attr, IBV_QP_STATE | IBV_QP_PORT };
	size_t n = encode_args(VERB_modify_qp, args, DIR_IN);

	assert_int_equal(walk_words(words, n, &verb_infos[VERB_modify_qp].args), n);
	assert_string_equal(told.text, "qp=20480 attr*1{[0]qp_state=1 port_num=1 } attr_mask=33 ");
}

static const char *watched;
static size_t watched_bytes, bytes_read;

static void note_read(const void *at, size_t bytes)
{
	if ((const char *)at >= watched && (const char *)at < watched + watched_bytes)
		bytes_read += bytes;
}

static size_t count_read(enum verb verb, const uint64_t *args, int64_t ret, const void *of,
			 size_t n)
{
	struct codec_out out = { words, 8192, .ret = ret, .reads = note_read };

	watched = of;
	watched_bytes = n;
	bytes_read = 0;
	codec_put_outputs(&out, verb, args);
	return bytes_read;
}

/* Nearly all of a structure is fields; what is between them nobody reads. */
TEST(outputs_are_announced_before_they_are_read)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct ibv_qp_init_attr init = { .sq_sig_all = 1 };
	struct ibv_mr mr = { .lkey = 5, .rkey = 6 };
	const uint64_t query[] = { 0x5000, (uintptr_t)&attr, IBV_QP_STATE, (uintptr_t)&init };
	const uint64_t none[8] = { 0 };

	assert_in_range(count_read(VERB_query_qp, query, 0, &attr, sizeof(attr)), 100,
			sizeof(attr));
	assert_in_range(count_read(VERB_query_qp, query, 0, &init, sizeof(init)), 20, sizeof(init));
	assert_in_range(count_read(VERB_reg_mr, none, (intptr_t)&mr, &mr, sizeof(mr)),
			sizeof(mr.lkey) + sizeof(mr.rkey), sizeof(mr));
}

TEST(directions_are_apart)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct ibv_qp_init_attr init = { .sq_sig_all = 1 };
	const uint64_t args[] = { 0x5000, (uintptr_t)&attr, 1, (uintptr_t)&init };
	size_t n = encode_args(VERB_query_qp, args, DIR_IN);

	walk_words(words, n, &verb_infos[VERB_query_qp].args);
	assert_string_equal(told.text, "qp=20480 attr_mask=1 ");
	n = encode_args(VERB_query_qp, args, DIR_OUT);
	assert_int_equal(walk_words(words, n, &verb_infos[VERB_query_qp].args), n);
	assert_non_null(strstr(told.text, "attr*1{[0]qp_state=3"));
	assert_non_null(strstr(told.text, "sq_sig_all=1"));
}

TEST(arrays_are_as_long_as_their_count)
{
	struct ibv_sge sges[3] = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } };
	const uint64_t args[] = { 1, 0, 0, (uintptr_t)sges, 3 };
	size_t n = encode_args(VERB_advise_mr, args, DIR_IN);

	assert_int_equal(walk_words(words, n, &verb_infos[VERB_advise_mr].args), n);
	assert_non_null(strstr(told.text, "sg_list*3{[0]addr=1 length=2 lkey=3 [1]addr=4 length=5 "
					  "lkey=6 [2]addr=7 length=8 lkey=9 }"));
}

TEST(union_is_read_by_its_selector)
{
	struct ibv_sge sge = { 1, 2, 3 };
	struct ibv_ops_wr op = { .opcode = IBV_WR_TAG_DEL,
				 .tm = { .handle = 9,
					 .add = { .sg_list = (void *)8, .num_sge = 5 } } };
	const uint64_t args[] = { 1, (uintptr_t)&op, 0 };

	walk_words(words, encode_args(VERB_post_srq_ops, args, DIR_IN),
		   &verb_infos[VERB_post_srq_ops].args);
	assert_non_null(strstr(told.text, "handle=9 "));
	assert_null(strstr(told.text, "sg_list"));
	op.opcode = IBV_WR_TAG_ADD;
	op.tm.add.sg_list = &sge;
	op.tm.add.num_sge = 1;
	walk_words(words, encode_args(VERB_post_srq_ops, args, DIR_IN),
		   &verb_infos[VERB_post_srq_ops].args);
	assert_non_null(strstr(told.text, "sg_list*1{[0]addr=1 length=2 lkey=3 }"));
	op.tm.add.num_sge = -1;
	walk_words(words, encode_args(VERB_post_srq_ops, args, DIR_IN),
		   &verb_infos[VERB_post_srq_ops].args);
	assert_non_null(strstr(told.text, "sg_list*0{}"));
}

TEST(elements_lie_as_far_apart_as_the_caller_said)
{
	struct {
		struct ibv_gid_entry entry;
		uint64_t more;
	} table[2] = {
		{ .entry.gid_index = 4 },
		{ .entry.gid_index = 5 },
	};
	const uint64_t args[] = { 1, (uintptr_t)table, 2, 0, sizeof(table[0]) };
	struct codec_out out = { .words = words, .size = 8192, .ret = 2 };

	codec_put_args(&out, VERB_query_gid_table, args, DIR_OUT);
	walk_words(words, out.used, &verb_infos[VERB_query_gid_table].args);
	assert_non_null(strstr(told.text, "gid_index=4"));
	assert_non_null(strstr(told.text, "gid_index=5"));
}

TEST(fields_of_a_newer_structure_are_not_read)
{
	struct ibv_parent_domain_init_attr attr = { .pd_context = (void *)5 };
	struct ibv_qp_attr qp_attr = { .rate_limit = 5 };
	struct ibv_qp_init_attr init = { 0 };
	const uint64_t args[] = { 1, (uintptr_t)&attr };
	const uint64_t query[] = { 1, (uintptr_t)&qp_attr, IBV_QP_STATE, (uintptr_t)&init };

	walk_words(words, encode_args(VERB_alloc_parent_domain, args, DIR_IN),
		   &verb_infos[VERB_alloc_parent_domain].args);
	assert_null(strstr(told.text, "pd_context"));
	walk_words(words, encode_args(VERB_query_qp, query, DIR_OUT),
		   &verb_infos[VERB_query_qp].args);
	assert_null(strstr(told.text, "rate_limit"));
}

TEST(structure_ends_where_the_caller_said)
{
	struct ibv_port_attr attr = { .state = IBV_PORT_ACTIVE };
	const uint64_t args[] = { 1, 1, (uintptr_t)&attr, 8 };
	size_t n = encode_args(VERB_query_port, args, DIR_OUT);

	walk_words(words, n, &verb_infos[VERB_query_port].args);
	assert_string_equal(told.text, "port_attr*1{[0]state=4 max_mtu=0 } ");
}

TEST(no_pointer_is_null)
{
	const uint64_t args[] = { 1, 0, 0 };
	size_t n = encode_args(VERB_modify_qp, args, DIR_IN);

	walk_words(words, n, &verb_infos[VERB_modify_qp].args);
	assert_string_equal(told.text, "qp=1 attr=null attr_mask=0 ");
}

TEST(new_object_follows_the_outs)
{
	struct ibv_context context = { .cmd_fd = 5 };
	const uint64_t args[] = { 1 };
	struct codec_out out = { .words = words,
				 .size = 8192,
				 .ret = (int64_t)(uintptr_t)&context };
	ssize_t used;

	codec_put_outputs(&out, VERB_open_device, args);
	used = walk_words(words, out.used, &verb_infos[VERB_open_device].args);
	assert_int_equal(used, 1);
	assert_int_equal(
		walk_words(words + used, out.used - (size_t)used, &object_infos[OBJECT_context]),
		out.used - (size_t)used);
	assert_non_null(strstr(told.text, "cmd_fd=5 "));
}

TEST(list_of_devices_is_each_of_them)
{
	struct ibv_device a = { .node_type = IBV_NODE_CA }, b = { .node_type = IBV_NODE_RNIC };
	struct ibv_device *list[] = { &a, &b, NULL };
	int n = 2;
	const uint64_t args[] = { (uintptr_t)&n };
	struct codec_out out = { .words = words, .size = 8192, .ret = (int64_t)(uintptr_t)list };
	ssize_t used;

	codec_put_outputs(&out, VERB_get_device_list, args);
	used = walk_words(words, out.used, &verb_infos[VERB_get_device_list].args);
	assert_string_equal(told.text, "num_devices*1{[0]value=2 } ");
	told.used = 0;
	assert_int_equal(codec_visit_objects(words + used, out.used - (size_t)used,
					     &verb_infos[VERB_get_device_list].ret, &visitor),
			 out.used - (size_t)used);
	assert_non_null(strstr(told.text, "ret*2{[0]handle="));
	assert_non_null(strstr(told.text, "[1]handle="));
}

TEST(list_of_no_device_is_empty)
{
	static const uint64_t none = 0, one = 1;
	const struct field_info *ret = &verb_infos[VERB_get_device_list].ret;

	told.used = 0;
	assert_int_equal(codec_visit_objects(&none, 1, ret, &visitor), 1);
	assert_string_equal(told.text, "ret*0{} ");
	assert_int_equal(codec_visit_objects(&one, 1, ret, &visitor), -EBADMSG);
}

/* The identifier of an event determines whether it is of a connection or of datagrams. */
TEST(event_has_what_its_identifier_has)
{
	struct rdma_cm_id id = { .qp_type = IBV_QPT_RC };
	struct rdma_cm_event event = { .id = &id, .event = RDMA_CM_EVENT_ESTABLISHED };
	struct rdma_cm_event *at = &event;
	const uint64_t args[] = { 1, (uintptr_t)&at };

	walk_words(words, encode_args(VERB_rdma_get_cm_event, args, DIR_OUT),
		   &verb_infos[VERB_rdma_get_cm_event].args);
	assert_non_null(strstr(told.text, "conn"));
	assert_null(strstr(told.text, "ud*"));
	id.qp_type = IBV_QPT_UD;
	walk_words(words, encode_args(VERB_rdma_get_cm_event, args, DIR_OUT),
		   &verb_infos[VERB_rdma_get_cm_event].args);
	assert_null(strstr(told.text, "conn"));
	assert_non_null(strstr(told.text, "qkey=0"));
	event.id = NULL;
	walk_words(words, encode_args(VERB_rdma_get_cm_event, args, DIR_OUT),
		   &verb_infos[VERB_rdma_get_cm_event].args);
	assert_null(strstr(told.text, "qp_type"));
	assert_null(strstr(told.text, "ud*"));
}

/* The identifier may have been destroyed, and the event freed. */
TEST(acknowledged_event_is_without_what_its_identifier_has)
{
	struct rdma_cm_event event = { .id = (struct rdma_cm_id *)8,
				       .listen_id = (struct rdma_cm_id *)16,
				       .event = RDMA_CM_EVENT_CONNECT_REQUEST };
	const uint64_t args[] = { (uintptr_t)&event };

	walk_words(words, encode_args(VERB_rdma_ack_cm_event, args, DIR_IN),
		   &verb_infos[VERB_rdma_ack_cm_event].args);
	assert_non_null(strstr(told.text, "id=8 listen_id=16 "));
	assert_null(strstr(told.text, "qp_type"));
	assert_null(strstr(told.text, "conn"));
}

TEST(address_is_as_long_as_its_family)
{
	struct {
		uint16_t family;
		char rest[14];
	} inet = { AF_INET, "" }, other = { AF_UNIX, "" };
	const uint64_t args[] = { 1, (uintptr_t)&inet, (uintptr_t)&other, 5 };
	const uint64_t without[] = { 1, 0, (uintptr_t)&inet, 5 };

	/* a mask, the identifier, twice length and bytes, the time */
	assert_int_equal(encode_args(VERB_rdma_resolve_addr, args, DIR_IN), 1 + 1 + 3 + 2 + 1);
	assert_int_equal(encode_args(VERB_rdma_resolve_addr, without, DIR_IN), 1 + 1 + 1 + 3 + 1);
}

TEST(blob_has_as_many_bytes_as_its_count)
{
	const uint64_t args[] = { 1, 0, 3, (uintptr_t) "private", 7 }, none[] = { 1, 0, 3, 0, 7 };
	size_t n = encode_args(VERB_rdma_set_option, args, DIR_IN);

	assert_int_equal(n, 1 + 3 + 2 + 1);
	assert_memory_equal(&words[5], "private", 7);
	assert_int_equal(encode_args(VERB_rdma_set_option, none, DIR_IN), 1 + 3 + 1 + 1);
}

static size_t encode_reject(uint64_t keep, uint64_t seed, const char *data, uint64_t n)
{
	const struct payload_rule rule = { keep, seed };
	struct codec_out out = { .words = words, .size = 8192, .rule = &rule };
	const uint64_t args[] = { 1, (uintptr_t)data, n };

	codec_put_args(&out, VERB_rdma_reject, args, DIR_IN);
	assert_false(out.cut);
	assert_int_equal(walk_words(words, out.used, &verb_infos[VERB_rdma_reject].args), out.used);
	return out.used;
}

TEST(private_data_is_what_the_rule_says)
{
	char hashed[96];

	assert_int_equal(encode_reject(PAYLOAD_NONE, 9, "private", 7), 1 + 1 + 1 + 1);
	assert_string_equal(told.text, "id=1 private_data=7: private_data_len=7 ");
	assert_int_equal(encode_reject(PAYLOAD_FULL, 9, "private", 7), 1 + 1 + 2 + 1);
	assert_string_equal(told.text, "id=1 private_data=7:70726976617465 private_data_len=7 ");
	encode_reject(2, 9, "private", 7);
	assert_string_equal(told.text, "id=1 private_data=7:7072 private_data_len=7 ");
	assert_int_equal(encode_reject(PAYLOAD_HASH, 9, "private", 7), 1 + 1 + 2 + 1);
	snprintf(hashed, sizeof(hashed), "id=1 private_data=7:#%016llx private_data_len=7 ",
		 (unsigned long long)hash_of("private", 7, 9));
	assert_string_equal(told.text, hashed);
	encode_reject(PAYLOAD_FULL, 9, NULL, 7);
	assert_string_equal(told.text, "id=1 private_data=null private_data_len=7 ");
}

/* Without a rule nothing is stored. */
TEST(private_data_without_a_rule_is_its_length)
{
	const uint64_t args[] = { 1, (uintptr_t) "private", 7 };
	size_t n = encode_args(VERB_rdma_reject, args, DIR_IN);

	assert_int_equal(walk_words(words, n, &verb_infos[VERB_rdma_reject].args), n);
	assert_string_equal(told.text, "id=1 private_data=7: private_data_len=7 ");
}

/* Random arguments of any verb: numbers, and pointers to zeroed memory or NULL. */
static void random_args(enum verb verb, uint64_t *args, char *memory, size_t each)
{
	const struct struct_info *info = &verb_infos[verb].args;

	for (unsigned int i = 0; i < info->nfields; i++) {
		bool pointer =
			info->fields[i].kind == FIELD_PTR || info->fields[i].kind == FIELD_TEXT ||
			info->fields[i].kind == FIELD_SOCKADDR ||
			info->fields[i].kind == FIELD_PRIVATE || info->fields[i].kind == FIELD_BLOB;

		args[i] = pointer ? (next_random() % 4 ? (uintptr_t)(memory + i * each) : 0)
			  : next_random() % 3 ? next_random() % 64
					      : (uint32_t)next_random();
	}
	for (unsigned int i = 0; i < info->nfields; i++) /* only arguments that exist */
		if (info->fields[i].limit >= 0)
			args[info->fields[i].limit] %= 64;
}

TEST(every_verb_is_read_as_it_was_written)
{
	enum { EACH = 1 << 19 };
	char *memory = calloc(8, EACH);

	choose_seed();
	assert_non_null(memory);
	for (int round = 0; round < 200; round++)
		for (int verb = 0; verb < VERB_COUNT; verb++) {
			const struct payload_rule rule = { round % 4 == 1 ? PAYLOAD_HASH
									  : (uint64_t)round % 4,
							   7 };
			struct codec_out out = {
				.words = words, .size = 8192, .ret = 3, .rule = &rule
			};
			uint64_t args[8];

			random_args((enum verb)verb, args, memory, EACH);
			codec_put_args(&out, (enum verb)verb, args, round % 2 ? DIR_IN : DIR_OUT);
			if (out.cut)
				continue;
			assert_int_equal(walk_words(words, out.used, &verb_infos[verb].args),
					 out.used);
		}
	free(memory);
}

TEST(cut_words_are_noticed)
{
	struct ibv_qp_init_attr init = { .sq_sig_all = 1 };
	const uint64_t args[] = { 0x5000, (uintptr_t)&init };
	size_t n = encode_args(VERB_create_qp, args, DIR_IN);

	for (size_t i = 0; i < n; i++)
		assert_int_equal(walk_words(words, i, &verb_infos[VERB_create_qp].args), -EBADMSG);
}

TEST(small_buffer_is_never_overrun)
{
	struct ibv_qp_init_attr init = { .sq_sig_all = 1 };
	const uint64_t args[] = { 0x5000, (uintptr_t)&init };
	size_t n = encode_args(VERB_create_qp, args, DIR_IN);

	for (size_t i = 0; i < n; i++) {
		struct codec_out out = { .words = words, .size = i };

		words[i] = 0x5a5a;
		codec_put_args(&out, VERB_create_qp, args, DIR_IN);
		assert_true(out.cut);
		assert_true(out.used <= i);
		assert_int_equal(words[i], 0x5a5a);
	}
}

TEST(any_words_are_read_without_harm)
{
	choose_seed();
	for (int round = 0; round < 20000; round++) {
		size_t n = next_random() % 64;
		ssize_t used;

		for (size_t i = 0; i < n; i++)
			words[i] = next_random() % 3 ? next_random() % 16 : next_random();
		used = walk_words(words, n, &verb_infos[next_random() % VERB_COUNT].args);
		assert_true(used == -EBADMSG || (used >= 0 && (size_t)used <= n));
	}
}
