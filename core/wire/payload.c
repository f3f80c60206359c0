/*
 * How much of payloads is stored: conversion to and from text
 */
#include "core/wire/payload.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/wire/event.h"
#include "core/base/size.h"

bool payload_parse(const char *text, uint64_t *ret_payload)
{
	uint64_t bytes = text ? size_parse(text) : 0;

	if (!text || !*text || !strcmp(text, "none"))
		*ret_payload = PAYLOAD_NONE;
	else if (!strcmp(text, "hash"))
		*ret_payload = PAYLOAD_HASH;
	else if (!strcmp(text, "full"))
		*ret_payload = PAYLOAD_FULL;
	else if (bytes && bytes <= PAYLOAD_CALL_MAX)
		*ret_payload = bytes;
	else
		return false;
	return true;
}

const char *payload_text(uint64_t payload, char text[24])
{
	if (payload == PAYLOAD_NONE)
		return "none";
	if (payload == PAYLOAD_HASH)
		return "hash";
	if (payload == PAYLOAD_FULL)
		return "full";
	snprintf(text, 24, "%" PRIu64, payload);
	return text;
}

const char *payload_kind_text(unsigned int kind)
{
	static const char *const names[PAYLOAD_KINDS] = {
		[PAYLOAD_SEND] = "send",
		[PAYLOAD_RECV] = "recv",
		[PAYLOAD_READ] = "read",
		[PAYLOAD_ATOMIC] = "atomic",
	};

	return kind < PAYLOAD_KINDS ? names[kind] : "?";
}

const char *payload_why_text(unsigned int why)
{
	static const char *const names[PAYLOAD_WHYS] = {
		[PAYLOAD_UNREADABLE] = "unreadable", [PAYLOAD_DEVICE] = "not-host-memory",
		[PAYLOAD_KEY] = "unknown-key",       [PAYLOAD_REQUEST] = "unknown-request",
		[PAYLOAD_AMBIGUOUS] = "ambiguous",   [PAYLOAD_LENGTH] = "no-length",
		[PAYLOAD_LONG] = "too-long",         [PAYLOAD_LOST] = "lost",
		[PAYLOAD_SANDBOX] = "sandboxed",
	};

	return why < PAYLOAD_WHYS ? names[why] : "?";
}
