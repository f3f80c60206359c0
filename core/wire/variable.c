/*
 * Environment variables of a program that a trace may contain
 *
 * This is a list of variables that may be recorded, since nobody can list all secrets: variables of
 * RDMA libraries have the same prefixes as keys (VERBATIM_REPLAY_KEY,
 * OMPI_MCA_orte_precondition_transports, FI_PSM3_UUID) and with addresses through which a job is
 * controlled (NCCL_COMM_ID, OMPI_MCA_orte_hnp_uri).
 *
 *	NAME	that variable
 *	NAME*	all with that prefix: settings of one part of a library. A name that contains a
 *		word of `secret_words` does not match; it needs a separate row.
 *
 * A value with a password in a URL is not recorded, whatever its name.
 *
 * The variables of launchers (launcher.h) may be recorded, too.
 *
 * verbatim-record(1) has the same list (tests/e2e/privacy.sh compares them).
 */
#include "core/wire/variable.h"

#include <string.h>
#include <strings.h>

#include "core/wire/launcher.h"

/* clang-format off */
static const char *const recorded[] = {
	/* libibverbs, librdmacm and providers: variables that rdma-core reads with getenv() */
	"RDMAV_ALLOW_DISASSOC_DESTROY", "RDMAV_DRIVERS", "RDMAV_FORK_SAFE", "RDMAV_HUGEPAGES_SAFE",
	"IBV_DRIVERS", "IBV_FORK_SAFE", "IBV_SHOW_WARNINGS",
	"MLX4_DEVICE_FATAL_CLEANUP",
	"MLX5_CQE_SIZE", "MLX5_DEBUG_FILE", "MLX5_DEBUG_MASK", "MLX5_FREEZE_ON_ERROR_CQE",
	"MLX5_LOCAL_CPUS", "MLX5_NUM_LOW_LAT_UUARS", "MLX5_POST_SEND_PREFER_BF",
	"MLX5_QP_SIGNATURE", "MLX5_RWQ_SIGNATURE", "MLX5_SCATTER_TO_CQE", "MLX5_SHUT_UP_BF",
	"MLX5_SINGLE_THREADED", "MLX5_SRQ_SIGNATURE", "MLX5_STALL_*", "MLX5_TOTAL_UUARS",

	/* UCX */
	"UCX_ACC_DEVICES", "UCX_ADAPTIVE_PROGRESS", "UCX_ATOMIC_MODE", "UCX_BCOPY_*", "UCX_CM_*",
	"UCX_CMA_*", "UCX_CUDA_*", "UCX_DC_*", "UCX_GDR_*", "UCX_GGA_*", "UCX_HANDLE_ERRORS",
	"UCX_IB_*", "UCX_IB_PKEY", "UCX_KEEPALIVE_INTERVAL", "UCX_KEEPALIVE_NUM_EPS", "UCX_KNEM_*",
	"UCX_LOG_LEVEL", "UCX_MAX_*", "UCX_MEM_*", "UCX_MEMTYPE_*", "UCX_MIN_*", "UCX_MM_*",
	"UCX_NET_DEVICES", "UCX_NUM_*", "UCX_POSIX_*", "UCX_PROTO_*", "UCX_RC_*", "UCX_RCACHE_*",
	"UCX_RDMA_CM_*", "UCX_REG_*", "UCX_RNDV_*", "UCX_ROCM_*", "UCX_SEG_SIZE",
	"UCX_SELF_DEVICES", "UCX_SHM_DEVICES", "UCX_SOCKADDR_*", "UCX_SYSV_*", "UCX_TCP_*",
	"UCX_TLS", "UCX_TM_*", "UCX_UD_*", "UCX_UNIFIED_MODE", "UCX_USE_*", "UCX_XPMEM_*",
	"UCX_ZCOPY_*",

	/* NCCL */
	"NCCL_ALGO", "NCCL_BUFFSIZE", "NCCL_CHECKS_DISABLE", "NCCL_COLLNET_*", "NCCL_CROSS_NIC",
	"NCCL_CUMEM_*", "NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DMABUF_ENABLE", "NCCL_IB_*",
	"NCCL_IB_PKEY", "NCCL_IGNORE_CPU_AFFINITY", "NCCL_LAUNCH_MODE", "NCCL_MAX_*", "NCCL_MIN_*",
	"NCCL_NET", "NCCL_NET_*", "NCCL_NSOCKS_PERTHREAD", "NCCL_NTHREADS", "NCCL_NVLS_*",
	"NCCL_P2P_*", "NCCL_PROTO", "NCCL_PXN_*", "NCCL_SHM_*", "NCCL_SOCKET_*", "NCCL_TOPO_FILE",

	/* libfabric */
	"FI_EFA_*", "FI_FORK_UNSAFE", "FI_HMEM", "FI_HMEM_*", "FI_LOG_LEVEL", "FI_LOG_PROV",
	"FI_LOG_SUBSYS", "FI_MR_*", "FI_OFI_RXD_*", "FI_OFI_RXM_*", "FI_PROVIDER", "FI_SHM_*",
	"FI_TCP_*", "FI_UNIVERSE_SIZE", "FI_VERBS_*",

	/* Open MPI */
	"OMPI_MCA_btl", "OMPI_MCA_btl_*", "OMPI_MCA_coll", "OMPI_MCA_coll_*", "OMPI_MCA_mpi_*",
	"OMPI_MCA_mpool", "OMPI_MCA_mpool_*", "OMPI_MCA_mtl", "OMPI_MCA_mtl_*",
	"OMPI_MCA_opal_common_ucx_*", "OMPI_MCA_osc", "OMPI_MCA_osc_*", "OMPI_MCA_pml",
	"OMPI_MCA_pml_*", "OMPI_MCA_rcache", "OMPI_MCA_rcache_*",

	/* variables of the guest and the software device, and of options for them */
	"VERBATIM_DEVICE", "VERBATIM_DIR", "VERBATIM_FILTER", "VERBATIM_FLIGHT", "VERBATIM_LINGER",
	"VERBATIM_LTTNG", "VERBATIM_MAX_WAIT", "VERBATIM_MEMORY", "VERBATIM_ON_FULL",
	"VERBATIM_PAYLOAD", "VERBATIM_RING_BUDGET", "VERBATIM_RING_SIZE", "VERBATIM_SEED",
	"VERBATIM_SESSIONS", "VERBATIM_SOFT_FABRIC", "VERBATIM_SOFT_FAULTS", "VERBATIM_SOFT_FORK",
	"VERBATIM_SOFT_LAG", "VERBATIM_SOFT_LEAVE", "VERBATIM_SOFT_LINK",
	"VERBATIM_SOFT_LINK_MODEL", "VERBATIM_SOFT_MEMLOCK", "VERBATIM_SOFT_MEMORY",
	"VERBATIM_SOFT_PAGES", "VERBATIM_SOFT_PERSONA", "VERBATIM_SOFT_STRICT",
	"VERBATIM_SOFT_TIMERS", "VERBATIM_SOFT_VM", "VERBATIM_SOFT_WIRE", "VERBATIM_STACKS",
	"VERBATIM_STOP_ON", "VERBATIM_STRICT", "VERBATIM_TEST_CLOCK",
};

static const char *const secret_words[] = {
	"key", "token", "secret", "pass", "cred", "auth", "cookie", "uuid", "uri", "cert",
};
/* clang-format on */

static bool has_secret_word(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(secret_words) / sizeof(*secret_words); i++) {
		size_t length = strlen(secret_words[i]);

		for (size_t at = 0; at + length <= n; at++)
			if (!strncasecmp(name + at, secret_words[i], length))
				return true;
	}
	return false;
}

static bool is_listed(const char *name, size_t n)
{
	bool family = false;

	for (size_t i = 0; i < sizeof(recorded) / sizeof(*recorded); i++) {
		size_t length = strlen(recorded[i]);

		if (recorded[i][length - 1] == '*')
			family |= n >= length && !strncmp(name, recorded[i], length - 1);
		else if (n == length && !strncmp(name, recorded[i], n))
			return true;
	}
	return family && !has_secret_word(name, n);
}

/* "scheme://user:password@host"; if the value was truncated, the text after "@" may be missing. */
static bool has_password(const char *value)
{
	const char *user = strstr(value, "://");

	for (; user; user = strstr(user, "://")) {
		user += 3;
		if (user[strcspn(user, "@/?# \t,;")] == '@')
			return true;
	}
	return false;
}

bool variable_is_recorded(const char *name, size_t n, const char *value)
{
	return (is_listed(name, n) || launcher_has_variable(name, n)) && !has_password(value);
}

const char *variable_shown(const char *name, const char *value)
{
	return variable_is_recorded(name, strlen(name), value) ? value : VARIABLE_HIDDEN;
}
