/*
 * Which functions bypass the verbs, and which libraries have them
 */
#include "shim/trace/base/provider.h"
#include "tests/test.h"

static const char *const prefixes[] = { "mlx5dv_", "mlx4dv_", "efadv_",
					"manadv_", "hnsdv_",  "bnxt_re_dv_" };
static const char *const moving[] = { "create_qp", "init_obj", "wr_raw_wqe", "alloc_dm",     "x",
				      "query",     "set",      "is",         "devx_qp_query" };
static const char *const asking[] = { "is_supported", "get_clock_info",   "set_context_attr",
				      "query_device", "query_device_ctx", "query_port",
				      "query_ah",     "query_mr",         "query_qp_lag_port" };

enum { PREFIXES = sizeof(prefixes) / sizeof(*prefixes) };

static bool is_known(const char *before, const char *prefix, const char *after)
{
	char name[64];

	snprintf(name, sizeof(name), "%s%s%s", before, prefix, after);
	return provider_has(name);
}

TEST(functions_that_may_move_data_are_known_for_each_provider)
{
	for (int i = 0; i < PREFIXES; i++)
		for (size_t j = 0; j < sizeof(moving) / sizeof(*moving); j++) {
			assert_true(is_known("", prefixes[i], moving[j]));
			assert_true(is_known("_", prefixes[i], moving[j]));
			assert_false(is_known("__", prefixes[i], moving[j]));
			assert_false(is_known("x", prefixes[i], moving[j]));
		}
}

TEST(functions_that_only_ask_are_not)
{
	for (int i = 0; i < PREFIXES; i++)
		for (size_t j = 0; j < sizeof(asking) / sizeof(*asking); j++) {
			assert_false(is_known("", prefixes[i], asking[j]));
			assert_false(is_known("_", prefixes[i], asking[j]));
		}
	assert_false(provider_has("ibv_create_qp"));
	assert_false(provider_has(""));
	assert_false(provider_has("mlx5dv"));
}

TEST(libraries_are_known_by_their_names_in_any_folder)
{
	static const char *const libraries[] = { "libmlx5.so.1",           "libmlx4.so",
						 "/usr/lib/libefa.so.1.2", "./libmana.so.1",
						 "/x/libhns.so.1",         "libbnxt_re.so" };

	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		assert_true(provider_is_library(libraries[i]));
	assert_false(provider_is_library("libibverbs.so.1"));
	assert_false(provider_is_library("/libmlx5.so.1/other"));
	assert_false(provider_is_library("xlibmlx5.so.1"));
	assert_false(provider_is_library(""));
}

TEST(functions_of_libraries_that_are_not_loaded_are_not_found)
{
	const char *absent = NULL;

	assert_null(provider_find("manadv_no_such_function", &absent));
	assert_string_equal(absent, "libmana.so");
	assert_null(provider_find("manadv_other", &absent));
	assert_string_equal(absent, "libmana.so");
	assert_null(provider_find("hnsdv_no_such_function", &absent));
	assert_string_equal(absent, "libhns.so");
}
