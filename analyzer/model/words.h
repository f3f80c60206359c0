#pragma once
/*
 * Text for values of the model: time spans, keys, ends of processes.
 *
 * Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

struct key;
struct keys;
struct trace;

/* 1234567 as "1.2 ms". */
const char *words_format_span(int64_t ns, char text[32]);

/* "1.2 ms earlier"; of a negative span "1.2 ms later"; "at about the same time" within @slack. */
const char *words_format_earlier(int64_t ns, int64_t slack, char text[48]);

/* 65536 as "64 KiB". */
const char *words_format_bytes(uint64_t bytes, char text[32]);

/* "1 region", "2 regions", "2 entries" */
enum { WORDS_COUNT = 48 };
const char *words_format_count(uint64_t n, const char *what, char text[WORDS_COUNT]);

/* words_format_count() with a text that is valid until the end of the block. */
#define WORDS_N(n, what) words_format_count(n, what, (char[WORDS_COUNT]){ "" })

/* "mr2 of pd1" */
const char *words_describe_key(struct trace *trace, const struct key *key, char *text, size_t size);

/*
 * How @length bytes at @addr, which @key does not hold, relate to it: "the access ends 4 bytes past
 * its end", "the bytes of the address are in reverse order", "they do not overlap"
 */
enum { WORDS_RELATION = 128 };
const char *words_describe_relation(const struct key *key, uint64_t addr, uint64_t length,
				    char text[WORDS_RELATION]);

/*
 * "; it is in mr3 of pd1, with lkey 0x30": another region that holds the bytes; "" if there is
 * none. @letter: 'l' or 'r', the key to name.
 */
enum { WORDS_HOLDER = 192 };
const char *words_describe_holder(struct trace *trace, const struct keys *keys,
				  const struct key *key, uint64_t addr, uint64_t length,
				  char letter, char text[WORDS_HOLDER]);

/*
 * ", but was the rkey of mr3 of pd1 until ibv_rereg_mr() at 2:5, 3.0 us earlier": a region of
 * @process whose lkey (@letter 'l') or rkey was @number; "" if there is none.
 */
const char *words_describe_renamed(struct trace *trace, const struct keys *keys, uint32_t process,
				   char letter, uint32_t number, int64_t time,
				   char text[WORDS_HOLDER]);

/*
 * ", but of mr1 of pd1 of process 3, which has ended": a key of a third process. @own: a key of the
 * sender that may be meant as well, or NULL.
 */
const char *words_describe_other_key(struct trace *trace, const struct key *key,
				     const struct key *own, char text[WORDS_HOLDER]);

/* "process 2 (server)" */
const char *words_name_process(struct trace *trace, uint32_t process, char *text, size_t size);

/* The name of the lowest bit of enum ibv_access_flags. */
const char *words_name_access(uint32_t access);

/* Why the content of a queue is not certain: the lowest bit of enum queue_doubt. */
const char *words_explain_doubt(unsigned int doubt);
