#pragma once
/*
 * Numbers for a reader: each writes into @text and returns it. Any thread.
 */
#include <stdint.h>
#include <stdio.h>

enum { FORMAT_TEXT = 32 };

/* 12,345 */
const char *format_count(uint64_t n, char text[FORMAT_TEXT]);

/* 512 B, 64 KiB, 1.18 MiB: powers of 1024, as in sizes of options (256k, 4M) */
const char *format_bytes(uint64_t n, char text[FORMAT_TEXT]);

/* 890 ns, 12.3 us, 4.56 ms, 3.4 s; "-" if negative */
const char *format_time(int64_t ns, char text[FORMAT_TEXT]);
