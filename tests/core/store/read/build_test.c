#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "core/store/read/build.h"
#include "core/store/db/args_json.h"
#include "tests/test.h"

static uint64_t resolve_same(void *arg, const struct field_info *field, uint64_t recorded)
{
	(void)arg;
	(void)field;
	return recorded;
}

/* The JSON that the recorder makes of arguments. */
static char *record_args(enum verb verb, const uint64_t *args)
{
	static uint64_t words[4096];
	struct codec_out out = { .words = words, .size = 4096 };
	struct text text = { 0 };
	struct args_writer json = { .out = &text };

	codec_put_args(&out, verb, args, DIR_IN);
	text_char(&text, '{');
	assert_int_equal(args_write_members(&json, words, out.used, &verb_infos[verb].args),
			 out.used);
	text_char(&text, '}');
	args_writer_fini(&json);
	return text.at;
}

static int build_json(enum verb verb, const char *json, build_resolve *resolve, void *arg,
		      uint64_t args[BUILD_ARGS], struct args_build **ret_build)
{
	struct args *from = args_new(json, strlen(json));
	int err = build_args(verb, from, resolve, arg, args, ret_build);

	args_unref(from);
	return err;
}

/* JSON to memory and back gives the same JSON. */
static void assert_round(enum verb verb, const uint64_t *args)
{
	uint64_t again[BUILD_ARGS];
	struct args_build *build;
	char *first = record_args(verb, args), *second;

	assert_int_equal(build_json(verb, first, resolve_same, NULL, again, &build), 0);
	second = record_args(verb, again);
	assert_string_equal(first, second);
	build_free(build);
	free(first);
	free(second);
}

TEST(arguments_come_back_the_same)
{
	struct ibv_qp_init_attr init = { .send_cq = (void *)0x10,
					 .recv_cq = (void *)0x20,
					 .qp_type = IBV_QPT_UD,
					 .cap = { 1, 2, 3, 4, 5 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .rq_psn = 0xffffff,
				    .dest_qp_num = 7 };
	struct ibv_sge sges[] = { { 1, 2, 3 }, { UINT64_MAX, UINT32_MAX, 4 } };
	struct ibv_ah_attr ah = { .dlid = 0xffff, .is_global = 1, .sl = 3 };
	struct ibv_qp_init_attr_ex ex = { .comp_mask = IBV_QP_INIT_ATTR_PD,
					  .pd = (void *)0x30,
					  .qp_type = IBV_QPT_RC,
					  .sq_sig_all = 1 };
	const uint64_t create[] = { 0x40, (uintptr_t)&init };
	const uint64_t modify[] = { 0x50, (uintptr_t)&attr,
				    IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN };
	const uint64_t advise[] = { 0x60, 1, 0, (uintptr_t)sges, 2 };
	const uint64_t create_ah[] = { 0x70, (uintptr_t)&ah };
	const uint64_t create_ex[] = { 0x80, (uintptr_t)&ex };
	const uint64_t no_attr[] = { 0x90, 0, 0 };

	memset(ah.grh.dgid.raw, 0xa5, 16);
	assert_round(VERB_create_qp, create);
	assert_round(VERB_modify_qp, modify);
	assert_round(VERB_advise_mr, advise);
	assert_round(VERB_create_ah, create_ah);
	assert_round(VERB_create_qp_ex, create_ex);
	assert_round(VERB_modify_qp, no_attr);
}

static uint64_t plus_one(void *arg, const struct field_info *field, uint64_t value)
{
	++*(int *)arg;
	assert_true(field->kind == FIELD_OBJ || field->kind == FIELD_ADDR);
	return value + 1;
}

TEST(handles_and_addresses_are_translated)
{
	uint64_t args[BUILD_ARGS];
	struct args_build *build;
	int asked = 0;

	assert_int_equal(build_json(VERB_reg_mr,
				    "{\"pd\":100,\"addr\":200,\"length\":300,"
				    "\"access\":1}",
				    plus_one, &asked, args, &build),
			 0);
	assert_int_equal(args[0], 101);
	assert_int_equal(args[1], 201);
	assert_int_equal(args[2], 300);
	assert_int_equal(asked, 2);
	build_free(build);
}

TEST(outs_have_room_as_declared)
{
	uint64_t args[BUILD_ARGS];
	struct args_build *build;

	assert_int_equal(build_json(VERB_query_port,
				    "{\"context\":1,\"port_num\":1,"
				    "\"port_attr_len\":52}",
				    resolve_same, NULL, args, &build),
			 0);
	memset((void *)(uintptr_t)args[2], 0, sizeof(struct ibv_port_attr));
	build_free(build);
	assert_int_equal(build_json(VERB_read_counters,
				    "{\"counters\":1,\"ncounters\":100,"
				    "\"flags\":0}",
				    resolve_same, NULL, args, &build),
			 0);
	memset((void *)(uintptr_t)args[1], 0, 800);
	build_free(build);
}

TEST(wrong_counts_and_sizes_have_room)
{
	uint64_t args[BUILD_ARGS];
	struct ibv_rwq_ind_table_init_attr *table;
	struct args_build *build;

	assert_int_equal(build_json(VERB_query_port,
				    "{\"context\":1,\"port_num\":1,"
				    "\"port_attr_len\":4611686018427387904}",
				    resolve_same, NULL, args, &build),
			 0);
	assert_int_equal(args[3], sizeof(struct ibv_port_attr));
	build_free(build);
	assert_int_equal(build_json(VERB_read_counters,
				    "{\"counters\":1,\"ncounters\":4294967295,"
				    "\"flags\":0}",
				    resolve_same, NULL, args, &build),
			 0);
	memset((void *)(uintptr_t)args[1], 0, args[2] * 8);
	build_free(build);
	assert_int_equal(build_json(VERB_advise_mr,
				    "{\"pd\":1,\"advice\":0,\"flags\":0,\"sg_list\":"
				    "[{\"addr\":1}],\"num_sges\":300}",
				    resolve_same, NULL, args, &build),
			 0);
	assert_int_equal(((struct ibv_sge *)(uintptr_t)args[3])[299].addr, 0);
	build_free(build);
	assert_int_equal(build_json(VERB_create_rwq_ind_table,
				    "{\"context\":1,\"init_attr\":{\"log_ind_tbl_size\":31,"
				    "\"ind_tbl\":[7]}}",
				    resolve_same, NULL, args, &build),
			 0);
	table = (void *)(uintptr_t)args[1];
	assert_int_equal((uintptr_t)table->ind_tbl[0], 7);
	assert_null(table->ind_tbl[(1u << table->log_ind_tbl_size) - 1]);
	build_free(build);
}

TEST(outs_are_as_recorded)
{
	struct ibv_port_attr port = { .state = IBV_PORT_ACTIVE, .lid = 5 };
	const uint64_t args[] = { 1, 1, (uintptr_t)&port, sizeof(port) };
	char *json;

	assert_int_equal(args_out_json(VERB_query_port, args, 0, &json), 0);
	assert_non_null(strstr(json, "\"state\":\"IBV_PORT_ACTIVE\""));
	assert_non_null(strstr(json, "\"lid\":5"));
	free(json);
	assert_int_equal(args_out_json(VERB_query_port, args, 22, &json), 0);
	assert_string_equal(json, "{}");
	free(json);
}

TEST(no_json_is_einval)
{
	uint64_t args[BUILD_ARGS];
	struct args_build *build = (void *)-1;

	assert_int_equal(build_json(VERB_reg_mr, "{", resolve_same, NULL, args, &build), -EINVAL);
	assert_ptr_equal(build, (void *)-1);
	build_free(NULL);
}
