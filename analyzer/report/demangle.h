#pragma once
/*
 * Names of functions as their languages write them: C++, Rust, D.
 *
 * Any thread.
 */
#include <stddef.h>

/*
 * Write the name of @symbol into @text: "Server::post" for "_ZN6Server4postEi", without its
 * parameters (D has them). What is no such symbol is copied.
 */
void demangle_name(const char *symbol, char *text, size_t size);
