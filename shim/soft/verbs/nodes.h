#pragma once
/*
 * The private version nodes of libibverbs, of all releases of rdma-core
 *
 * The node is renamed whenever a function in it changes; each release has only one of these nodes.
 * A program or provider refers to the node of the release for which it was built, so this library
 * defines each symbol in all nodes.
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

/* Define @name, a function of the same file, in each node. The version script lists the nodes. */
#define PRIVATE_NODE(node, name) ".symver " #name ", " #name "@IBVERBS_PRIVATE_" #node "\n"
#define PRIVATE_NODES(name)      __asm__(PRIVATE_NODE_LIST(PRIVATE_NODE, name))
