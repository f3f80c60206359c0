#pragma once
/*
 * The files that a page is made of, as they were when this program was built: NUL-terminated.
 * Constant data; any thread.
 *
 * page_html has @@NAME@@ where the others and the data go; page_d3 is D3 (BSD), of Debian's
 * libjs-d3.
 */
extern const char page_html[], page_css[], page_js[], page_d3[];
