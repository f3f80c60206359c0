/*
 * Libraries of providers, and the names of their functions
 */
#include "shim/trace/base/provider.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "shim/trace/base/dl.h"
#include "shim/trace/base/libc.h"
#include "shim/trace/base/prefix.h"

/* A provider's library, and the prefixes of its functions. */
static const struct {
	const char *library, *prefix;
} providers[] = {
	{ "libmlx5.so", "mlx5dv_" }, { "libmlx4.so", "mlx4dv_" },
	{ "libefa.so", "efadv_" },   { "libmana.so", "manadv_" },
	{ "libhns.so", "hnsdv_" },   { "libbnxt_re.so", "bnxt_re_dv_" },
};

/* Names after the prefix of functions that only query or configure, and do not bypass the verbs. */
static const char *const harmless[] = {
	"is_",        "get_",     "set_context_attr", "query_device",
	"query_port", "query_ah", "query_mr",         "query_qp_lag_port",
};

enum { PROVIDERS = sizeof(providers) / sizeof(*providers) };

static bool is_harmless(const char *name)
{
	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		if (has_prefix(name, harmless[i]))
			return true;
	return false;
}

/* The index of the provider that has function @name; -1: none has it, or it is harmless. */
static int provider_of(const char *name)
{
	name += *name == '_';
	for (int i = 0; i < PROVIDERS; i++)
		if (has_prefix(name, providers[i].prefix))
			return is_harmless(name + strlen(providers[i].prefix)) ? -1 : i;
	return -1;
}

bool provider_has(const char *name)
{
	return provider_of(name) >= 0;
}

bool provider_is_library(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	for (int i = 0; i < PROVIDERS; i++)
		if (has_prefix(base, providers[i].library))
			return true;
	return false;
}

void *provider_find(const char *name, const char **absent)
{
	const char *library = providers[provider_of(name)].library;
	void *at = dl_plain(RTLD_DEFAULT, name), *handle;
	char soname[32];

	if (at || *absent == library)
		return at;
	strcpy(soname, library);
	strcat(soname, ".1");
	handle = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
	if (!handle) {
		*absent = library;
		return NULL;
	}
	at = dl_plain(handle, name);
	NEXT(dlclose)(handle);
	return at;
}
