#pragma once
/*
 * Names of functions as their languages write them: C++, Rust, D.
 *
 * Any thread.
 */
#include <stdbool.h>
#include <stddef.h>

/* Has @symbol the form of one of these? */
bool demangle_knows(const char *symbol);

/*
 * Write the name of @symbol into @text: "Server::post" for "_ZN6Server4postEi", without its
 * parameters (D has them). What is no such symbol is copied.
 */
void demangle_name(const char *symbol, char *text, size_t size);
