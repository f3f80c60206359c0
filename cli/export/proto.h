#pragma once
/*
 * Messages of protocol buffers, field by field. Not thread-safe.
 */
#include <stdint.h>

struct text;

void proto_put_number(struct text *to, unsigned int field, uint64_t number);
void proto_put_fixed(struct text *to, unsigned int field, uint64_t number); /* fixed64 */
void proto_put_string(struct text *to, unsigned int field, const char *string);
void proto_put_message(struct text *to, unsigned int field, const struct text *message);
