/*
 * Noise in the fields of an error completion that are not valid
 *
 * VERBATIM_SOFT_STRICT=1 asks for it. The noise is constant, so that a run
 * can be repeated.
 */
#include "shim/soft/noise.h"

#include <stdbool.h>
#include <stdlib.h>

static bool strict(void)
{
	const char *value = getenv("VERBATIM_SOFT_STRICT");

	return value && *value && *value != '0';
}

void noise_wc(struct ibv_wc *wc)
{
	if (!strict())
		return;
	wc->opcode = 0x5a;
	wc->byte_len = 0xdeadbeef;
	wc->imm_data = 0xdeadbeef;
	wc->src_qp = 0xdeadbeef;
	wc->wc_flags = 0x5a5a5a5a;
	wc->pkey_index = 0xdead;
	wc->slid = 0xdead;
	wc->sl = 0x5a;
	wc->dlid_path_bits = 0x5a;
}
