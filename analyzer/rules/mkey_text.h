#pragma once
/*
 * Text for the MKEY rules: for mkey.c and mkey_peer.c.
 *
 * Not thread-safe.
 */
#include "analyzer/model/key.h"
#include "analyzer/rules/add_finding.h"

enum { TEXT = 160 };

/* "mr2 of pd1" */
const char *key_name(const struct check *check, const struct key *key, char text[TEXT]);

/* "wr[2].sg_list[0]" */
const char *key_place(const struct model_key *use, char text[TEXT]);

/* "a receive", "IBV_WR_RDMA_READ" */
const char *key_request(int opcode);

/* "; the post returned 22 (Invalid argument)", "; it completed with IBV_WC_LOC_PROT_ERR" */
const char *key_outcome(const struct model_key *use, char text[TEXT]);

/* "the access ends 4 bytes past its end" */
const char *key_misses(const struct model_key *use, char text[TEXT]);

/* A finding for each place in the program and kind of mistake; NULL: enough are stored. */
struct finding *key_finding(struct check *check, enum rule_id rule, const struct model_key *use);
