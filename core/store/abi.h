#pragma once
/*
 * Numbers of <infiniband/verbs.h> that the store itself decides by; all others
 * it knows by their names only (core/wire/desc.h). They are part of a binary
 * interface and never change.
 */

enum abi {
	ABI_WC_SUCCESS = 0,
	ABI_WC_RECV = 1 << 7,     /* bit of the opcode: on the receive side */
	ABI_WC_WITH_INV = 1 << 3, /* bit of wc_flags: the field is an rkey, not immediate data */
	ABI_SEND_SIGNALED = 1 << 1,
	ABI_QPS_RESET = 0,
};
