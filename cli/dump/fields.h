#pragma once
/*
 * The parts of a work request, and the extended fields of a completion, as text. Not thread-safe.
 */
#include "cli/dump/values.h"

/* ", remote_addr=0x1000, rkey=0x7": each part with a field that is not 0. */
void fields_put_wr(const struct values *values, const struct wr *wr);

/* ", completion_ts=5": the fields that wc->parts marks as present. */
void fields_put_wc(const struct values *values, const struct wc *wc);

enum fields_form { FIELDS_HEX, FIELDS_NUMBER, FIELDS_OBJECT, FIELDS_FLAGS };

struct field_value {
	const char *name; /* as in struct wr and struct wc */
	enum fields_form form;
	const char *names;       /* for flags: the name of their enum */
	enum object_kind object; /* of a handle */
	uint64_t value;
	bool rkey; /* a key of the peer's memory */
};

typedef void fields_see(const struct field_value *value, void *arg);

/* Call @see for each field of the request, or of the completion. */
void fields_each_wr(const struct wr *wr, fields_see *see, void *arg);
void fields_each_wc(const struct wc *wc, fields_see *see, void *arg);
