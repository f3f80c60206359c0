#pragma once
/*
 * The private version nodes of libibverbs, of all releases of rdma-core
 *
 * The node is renamed whenever a function in it changes, and a release has one of them. A program
 * or provider refers to the node of the release that it was built for, so each imported symbol is
 * defined in all of them.
 *
 * Source: IBVERBS_PABI_VERSION in rdma-core's CMakeLists.txt, 24.0 to 65.0.
 */

/* clang-format off */
#define PRIVATE_NODE_LIST(V, ...) \
	V(22, __VA_ARGS__)        \
	V(25, __VA_ARGS__)        \
	V(33, __VA_ARGS__)        \
	V(34, __VA_ARGS__)        \
	V(57, __VA_ARGS__)        \
	V(59, __VA_ARGS__)        \
	V(64, __VA_ARGS__)        \
	V(65, __VA_ARGS__)
/* clang-format on */

/* Put @name, which this file defines, into each node. The version script has the nodes. */
#define PRIVATE_NODE(node, name) ".symver " #name ", " #name "@IBVERBS_PRIVATE_" #node "\n"
#define PRIVATE_NODES(name)      __asm__(PRIVATE_NODE_LIST(PRIVATE_NODE, name))
