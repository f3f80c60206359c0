#pragma once
/*
 * Numbers in messages, little-endian, and texts.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct pack {
	uint8_t *at, *end;
	bool failed; /* no room */
};

struct unpack {
	const uint8_t *at, *end;
	bool failed; /* the message ended before */
};

static inline void pack_bytes(struct pack *p, const void *bytes, size_t n)
{
	p->failed = p->failed || n > (size_t)(p->end - p->at);
	if (p->failed)
		return;
	memcpy(p->at, bytes, n);
	p->at += n;
}

static inline void pack_number(struct pack *p, uint64_t value, size_t n)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	pack_bytes(p, bytes, n);
}

static inline void pack_u8(struct pack *p, uint8_t value)
{
	pack_number(p, value, 1);
}

static inline void pack_u16(struct pack *p, uint16_t value)
{
	pack_number(p, value, 2);
}

static inline void pack_u32(struct pack *p, uint32_t value)
{
	pack_number(p, value, 4);
}

static inline void pack_u64(struct pack *p, uint64_t value)
{
	pack_number(p, value, 8);
}

/* Append @text without its terminating zero. */
static inline void pack_text(struct pack *p, const char *text)
{
	size_t n = strlen(text);

	pack_u16(p, (uint16_t)n);
	pack_bytes(p, text, n);
}

static inline void unpack_bytes(struct unpack *u, void *bytes, size_t n)
{
	u->failed = u->failed || n > (size_t)(u->end - u->at);
	if (u->failed) {
		memset(bytes, 0, n);
		return;
	}
	memcpy(bytes, u->at, n);
	u->at += n;
}

static inline uint64_t unpack_number(struct unpack *u, size_t n)
{
	uint8_t bytes[8];
	uint64_t value = 0;

	unpack_bytes(u, bytes, n);
	for (size_t i = n; i-- > 0;)
		value = value << 8 | bytes[i];
	return value;
}

static inline uint8_t unpack_u8(struct unpack *u)
{
	return (uint8_t)unpack_number(u, 1);
}

static inline uint16_t unpack_u16(struct unpack *u)
{
	return (uint16_t)unpack_number(u, 2);
}

static inline uint32_t unpack_u32(struct unpack *u)
{
	return (uint32_t)unpack_number(u, 4);
}

static inline uint64_t unpack_u64(struct unpack *u)
{
	return unpack_number(u, 8);
}

/* Read a text into @text, of @size bytes; a longer one, or one that contains a zero, is invalid. */
static inline void unpack_text(struct unpack *u, char *text, size_t size)
{
	size_t n = unpack_u16(u);

	u->failed = u->failed || n >= size;
	*text = '\0';
	if (u->failed)
		return;
	unpack_bytes(u, text, n);
	text[n] = '\0';
	u->failed = u->failed || strlen(text) != n;
}

/* Was the message complete, with nothing after the fields? */
static inline bool unpack_ended(const struct unpack *u)
{
	return !u->failed && u->at == u->end;
}
