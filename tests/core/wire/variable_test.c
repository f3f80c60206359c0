#include <string.h>

#include "core/wire/variable.h"
#include "tests/test.h"

static bool is_recorded(const char *name, const char *value)
{
	return variable_is_recorded(name, strlen(name), value);
}

TEST(settings_of_rdma_libraries_are_recorded)
{
	static const char *const names[] = {
		"RDMAV_FORK_SAFE",      "IBV_SHOW_WARNINGS",
		"MLX5_STALL_CQ_POLL",   "UCX_TLS",
		"UCX_RC_VERBS_TX_MIN",  "NCCL_IB_HCA",
		"FI_PROVIDER",          "FI_VERBS_IFACE",
		"OMPI_MCA_pml",         "OMPI_MCA_btl_openib",
		"VERBATIM_SOFT_FABRIC", "VERBATIM_SOFT_FAULTS",
		"VERBATIM_TEST_CLOCK",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_true(is_recorded(names[i], "1"));
}

/* Each has the prefix of a library, and some libraries have such a variable. */
TEST(what_is_not_listed_is_not_recorded)
{
	static const char *const names[] = {
		"VERBATIM_REPLAY_KEY",
		"VERBATIM_KEY",
		"VERBATIM_SOFT_FABRIC2",
		"VERBATIM_",
		"NCCL_COMM_ID",
		"FI_PSM3_UUID",
		"OMPI_MCA_orte_precondition_transports",
		"OMPI_MCA_orte_hnp_uri",
		"OMPI_MCA_btlx",
		"UCX_TL",
		"UCX_TLSX",
		"A_SECRET",
		"",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_false(is_recorded(names[i], "1"));
}

/* "UCX_CM_*" */
TEST(a_family_begins_with_one_character_more)
{
	assert_true(is_recorded("UCX_CM_X", "1"));
	assert_true(is_recorded("UCX_CM_XY", "1"));
	assert_false(is_recorded("UCX_CM_", "1"));
	assert_false(is_recorded("UCX_CM", "1"));
	assert_false(is_recorded("UCX_CN_X", "1"));
	assert_false(is_recorded("X_UCX_CM_X", "1"));
}

/* A family may get unforeseen members. */
TEST(a_secret_word_needs_a_row_of_its_own)
{
	assert_true(is_recorded("UCX_IB_PKEY", "0xffff"));
	assert_false(is_recorded("UCX_IB_PKEYS", "0xffff"));
	assert_false(is_recorded("UCX_TCP_AUTH", "x"));
	assert_false(is_recorded("NCCL_NET_TOKEN", "x"));
	assert_false(is_recorded("OMPI_MCA_btl_tcp_password", "x"));
	assert_false(is_recorded("FI_TCP_Secret_FILE", "x"));
}

TEST(a_url_with_a_password_is_not_recorded)
{
	assert_false(is_recorded("NCCL_TOPO_FILE", "https://me:hunter2@host/topo.xml"));
	assert_false(is_recorded("UCX_TLS", "tcp://a/b,x://me:hunter2@host"));
	assert_true(is_recorded("NCCL_TOPO_FILE", "https://host/topo@2.xml"));
	assert_true(is_recorded("NCCL_SOCKET_IFNAME", "^lo,docker"));
}

TEST(what_is_not_recorded_is_not_shown)
{
	assert_string_equal(variable_shown("UCX_TLS", "rc"), "rc");
	assert_string_equal(variable_shown("VERBATIM_REPLAY_KEY", "hunter2"), VARIABLE_HIDDEN);
}
