/*
 * Noise in the fields of an error completion that are not valid
 *
 * Enabled by VERBATIM_SOFT_STRICT=1. The noise is constant, so that runs can be compared.
 */
#include "shim/soft/fabric/noise.h"

#include <stdlib.h>

const struct shm_cqe noise_entry = {
	.opcode = 0x5a,
	.flags = SHM_CQE_TAGGED,
	.wc_flags = 0x5a,
	.byte_len = 0xdeadbeef,
	.imm = 0xdeadbeef,
	.src_qp = 0xadbeef,
	.sl = 0x5a,
	.slid = 0xdead,
	.stamp = 0xdeadbeefdeadbeef,
};

bool noise_is_wanted(void)
{
	const char *value = getenv("VERBATIM_SOFT_STRICT");

	return value && *value && *value != '0';
}

void noise_fill_wc(struct ibv_wc *wc)
{
	wc->opcode = noise_entry.opcode;
	wc->byte_len = noise_entry.byte_len;
	wc->imm_data = noise_entry.imm;
	wc->src_qp = noise_entry.src_qp;
	wc->wc_flags = noise_entry.wc_flags;
	wc->pkey_index = 0xdead;
	wc->slid = noise_entry.slid;
	wc->sl = noise_entry.sl;
	wc->dlid_path_bits = 0x5a;
}
