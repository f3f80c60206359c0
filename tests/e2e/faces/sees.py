import glob, os, stat
name, = os.listdir('/sys/class/infiniband')
with open('/sys/class/infiniband/%s/node_type' % name) as f:
    assert f.read() == '1: CA\n'
types = glob.glob('/sys/class/infiniband/*/ports/*/gid_attrs/types/*')
assert len(types) == 16, types
def says(path):
    try:
        return open(path).read()
    except OSError as e:
        return os.strerror(e.errno)
assert [says(t) for t in types].count('Invalid argument') == 14, types
assert {e.name for e in os.scandir('/dev/infiniband')} == {'uverbs0', 'rdma_cm'}
assert all(stat.S_ISCHR(e.stat().st_mode) for e in os.scandir('/dev/infiniband'))
fd = os.open('/dev/infiniband/uverbs0', os.O_RDWR)
assert stat.S_ISCHR(os.fstat(fd).st_mode)
walked = [d for d, _, _ in os.walk('/sys/class/infiniband/%s/ports' % name)]
assert len(walked) > 5, walked
assert os.path.realpath('/sys/class/infiniband/%s/device' % name).startswith('/sys/devices/pci')
import ctypes, subprocess, multiprocessing
verbs, count = ctypes.CDLL('libibverbs.so.1'), ctypes.c_int()
verbs.ibv_get_device_list.restype = ctypes.c_void_p
assert verbs.ibv_get_device_list(ctypes.byref(count)) and count.value == 1
assert subprocess.check_output(['cat', '/sys/class/infiniband/%s/fw_ver' % name])
with multiprocessing.get_context('fork').Pool(2) as pool:
    assert pool.map(os.path.exists, ['/sys/class/infiniband/' + name] * 4) == [True] * 4
