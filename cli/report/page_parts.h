#pragma once
/*
 * The source files of a page, embedded when this program was built: NUL-terminated. Constant data;
 * any thread.
 *
 * page_html has @@NAME@@ in place of the others and the data.
 */
extern const char page_html[], page_css[], page_js[];
