#pragma once
/*
 * Network addresses as text. Any thread.
 */
#include <stddef.h>

enum { SOCKADDR_TEXT = 80 };

/*
 * Write the @n bytes of a struct sockaddr into @text, and return it: "192.0.2.1:7471",
 * "[fe80::1%2]:7471"; for InfiniBand "[fe80::1]/0x0000000001061d2f", with the service; "none" if
 * there is no address; "family 16" for any other family.
 */
const char *sockaddr_text(const void *address, size_t n, char text[SOCKADDR_TEXT]);
