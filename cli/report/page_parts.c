/*
 * The files that a page is made of, as part of the program: neither the page nor the program needs
 * other files
 */
#include "cli/report/page_parts.h"

#define PART(name, file)                                 \
	__asm__(".section .rodata\n"                     \
		".global page_" #name "\n"               \
		".hidden page_" #name "\n"               \
		"page_" #name ": .incbin \"" file "\"\n" \
		".byte 0\n"                              \
		".previous\n")

PART(html, "cli/report/page.html");
PART(css, "cli/report/page.css");
PART(js, "cli/report/page.js");
PART(d3, PAGE_D3);
