/*
 * Failures that programs expect
 *
 * Found by recording them: ibv_devinfo, ibv_rc_pingpong, perftest, UCX, Open MPI, libfabric and
 * librdmacm's examples. A row hides a failure from all users: fatal failures must not be in the
 * table. The table also has no failures whose meaning depends on another call.
 */
#include "core/wire/probe.h"

#include <errno.h>
#include <string.h>

enum { ANY_EFFECT = -1, ACCESS_ON_DEMAND = 1 << 6 /* enum ibv_access_flags */ };

/* A failed call, for the functions of the table. */
struct failed_call {
	const struct verb_info *info;
	probe_argument *argument;
	const void *call;
};

static bool get_argument(const struct failed_call *asked, const char *name, int64_t *ret_value)
{
	const struct struct_info *args = &asked->info->args;

	for (unsigned int i = 0; i < args->nfields; i++)
		if (!strcmp(args->fields[i].name, name))
			return asked->argument(asked->call, &args->fields[i], ret_value);
	return false;
}

static bool has_on_demand(const struct failed_call *asked)
{
	int64_t access;

	return get_argument(asked, "access", &access) && access & ACCESS_ON_DEMAND;
}

/* Is there no file descriptor? Then the call only tests whether the device supports the verb. */
static bool has_no_file(const struct failed_call *asked)
{
	int64_t fd;

	return get_argument(asked, "fd", &fd) && fd < 0;
}

static bool may_wait(const struct failed_call *asked)
{
	return asked->info->blocks;
}

static bool is_of_cm(const struct failed_call *asked)
{
	return asked->info->via == VIA_CM;
}

/* clang-format off */
static const struct probe {
	enum verb verb; /* VERB_COUNT: any */
	int effect;     /* enum verb_effect, ANY_EFFECT */
	int error;
	bool (*fits)(const struct failed_call *asked); /* NULL: any */
} probes[] = {
	/* non-blocking descriptors: no event has arrived yet, or a signal interrupted the call */
	{ VERB_COUNT, ANY_EFFECT, EAGAIN, may_wait },
	{ VERB_COUNT, ANY_EFFECT, EINTR, may_wait },
	{ VERB_COUNT, ANY_EFFECT, EAGAIN, is_of_cm },
	{ VERB_COUNT, ANY_EFFECT, EINPROGRESS, is_of_cm },
	/* attributes that a device does not support */
	{ VERB_COUNT, EFFECT_QUERY, EOPNOTSUPP, NULL },
	{ VERB_COUNT, EFFECT_QUERY, ENOSYS, NULL },
	{ VERB_COUNT, EFFECT_QUERY, EPROTONOSUPPORT, NULL },
	{ VERB_query_gid, ANY_EFFECT, ENODATA, NULL }, /* an empty entry of the GID table */
	{ VERB_query_gid_ex, ANY_EFFECT, ENODATA, NULL },
	{ VERB_set_ece, ANY_EFFECT, EOPNOTSUPP, NULL },
	/* functions for which there is an alternative */
	{ VERB_create_cq_ex, ANY_EFFECT, EOPNOTSUPP, NULL },
	{ VERB_create_cq_ex, ANY_EFFECT, ENOSYS, NULL },
	{ VERB_alloc_td, ANY_EFFECT, EOPNOTSUPP, NULL },
	{ VERB_alloc_td, ANY_EFFECT, ENOSYS, NULL },
	{ VERB_alloc_parent_domain, ANY_EFFECT, EOPNOTSUPP, NULL },
	{ VERB_alloc_parent_domain, ANY_EFFECT, ENOSYS, NULL },
	{ VERB_alloc_dm, ANY_EFFECT, EOPNOTSUPP, NULL },
	{ VERB_alloc_dm, ANY_EFFECT, ENOSYS, NULL },
	{ VERB_advise_mr, ANY_EFFECT, EOPNOTSUPP, NULL },
	{ VERB_advise_mr, ANY_EFFECT, ENOSYS, NULL },
	/* paging on demand; memory of GPUs */
	{ VERB_reg_mr, ANY_EFFECT, EINVAL, has_on_demand },
	{ VERB_reg_mr, ANY_EFFECT, EOPNOTSUPP, has_on_demand },
	{ VERB_reg_mr_iova2, ANY_EFFECT, EINVAL, has_on_demand },
	{ VERB_reg_mr_iova2, ANY_EFFECT, EOPNOTSUPP, has_on_demand },
	{ VERB_reg_dmabuf_mr, ANY_EFFECT, EBADF, has_no_file },
	{ VERB_reg_dmabuf_mr, ANY_EFFECT, EOPNOTSUPP, has_no_file },
	{ VERB_reg_dmabuf_mr, ANY_EFFECT, EPROTONOSUPPORT, has_no_file },
	/* an address family that the machine does not have */
	{ VERB_rdma_bind_addr, ANY_EFFECT, EAFNOSUPPORT, NULL },
	{ VERB_rdma_resolve_addr, ANY_EFFECT, EAFNOSUPPORT, NULL },
};
/* clang-format on */

bool probe_is_expected(enum verb verb, int error, probe_argument *argument, const void *call)
{
	const struct failed_call asked = { &verb_infos[verb], argument, call };

	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		const struct probe *p = &probes[i];

		if (p->error == error && (p->verb == VERB_COUNT || p->verb == verb) &&
		    (p->effect < 0 || p->effect == (int)asked.info->effect) &&
		    (!p->fits || p->fits(&asked)))
			return true;
	}
	return false;
}
