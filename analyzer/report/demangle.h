#pragma once
/*
 * Names of functions as their languages write them: C++, Rust, D.
 *
 * Any thread.
 */
#include <stdbool.h>
#include <stddef.h>

/* Is @symbol a mangled name of one of these languages? */
bool demangle_knows(const char *symbol);

/*
 * Write the demangled @symbol into @text: "Server::post" for "_ZN6Server4postEi", without its
 * parameters (except for D). Other symbols are copied.
 */
void demangle_name(const char *symbol, char *text, size_t size);
