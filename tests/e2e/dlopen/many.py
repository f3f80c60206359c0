import ctypes, glob, json, sqlite3, ssl, sys, decimal, hashlib, zlib
for path in sorted(glob.glob("/usr/lib/x86_64-linux-gnu/lib[a-z]*.so.[0-9]"))[:200]:
    if "san.so" in path: # they must be first, and end the process
        continue
    try:
        lib = ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)
        print(path, [hasattr(lib, name) for name in
                     ("malloc", "ibv_reg_mr", "main", "rdma_connect", "zlibVersion")])
    except OSError as e:
        print(path, "cannot be opened")
