#pragma once
/*
 * The only door to SQLite.
 *
 * The loadable extension is compiled with STORE_EXTENSION and then calls the
 * SQLite that loaded it, never one of its own.
 */
#ifdef STORE_EXTENSION
#include <sqlite3ext.h>
extern const sqlite3_api_routines *sqlite3_api;
#else
#include <sqlite3.h>
#endif
