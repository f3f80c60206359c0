/*
 * The files that a page is made of, as part of the program: neither the page nor the program needs
 * other files
 */
#include "cli/report/page_parts.h"

#define FILE(name) ".incbin \"cli/report/page/" name "\"\n"
#define PART(name, files)                            \
	__asm__(".section .rodata\n"                 \
		".global page_" #name "\n"           \
		".hidden page_" #name "\n"           \
		"page_" #name ": " files ".byte 0\n" \
		".previous\n")

PART(html, FILE("page.html"));
PART(css, FILE("page.css"));
PART(js, FILE("base.js") FILE("plot.js") FILE("verdict.js") FILE("time.js") FILE("lanes.js")
		 FILE("charts.js") FILE("places.js") FILE("waits.js") FILE("page.js"));
