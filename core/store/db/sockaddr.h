#pragma once
/*
 * An address of the network as text. Any thread.
 */
#include <stddef.h>

enum { SOCKADDR_TEXT = 80 };

/*
 * The @n bytes of a struct sockaddr: "192.0.2.1:7471", "[fe80::1%2]:7471", of
 * InfiniBand "[fe80::1]/0x0000000001061d2f" (the service), of none "none", of any
 * other family "family 16". Writes into @text and returns it.
 */
const char *sockaddr_text(const void *address, size_t n, char text[SOCKADDR_TEXT]);
