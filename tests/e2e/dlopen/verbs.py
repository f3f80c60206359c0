import ctypes
lib = ctypes.CDLL("libibverbs.so.1", use_errno=True)
lib.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
lib.ibv_open_device.restype = lib.ibv_alloc_pd.restype = ctypes.c_void_p
devices = lib.ibv_get_device_list(None)
context = lib.ibv_open_device(ctypes.c_void_p(devices[0]))
pd = lib.ibv_alloc_pd(ctypes.c_void_p(context))
print(lib.ibv_dealloc_pd(ctypes.c_void_p(pd)), lib.ibv_close_device(ctypes.c_void_p(context)))
lib.ibv_free_device_list(devices)
lib.ibv_wc_status_str.restype = ctypes.c_char_p
print(lib.ibv_wc_status_str(5).decode(), hasattr(lib, "ibv_no_such_verb"), hasattr(lib, "malloc"))
