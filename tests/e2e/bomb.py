"""For attack_symbols.sh.

bomb.py make PROGRAM NEW BYTES	PROGRAM with debug information that unpacks to so many bytes
bomb.py run BYTES COMMAND...	run it, and say where it took more memory
bomb.py listen PORT FILE	write to FILE when somebody connects
"""
import os
import resource
import socket
import struct
import subprocess
import sys
import zlib


def packed(size):
    """A stream of zeros, of pieces that are alike: it need not be made of all of them."""
    stream = zlib.compressobj(9)
    head = stream.compress(b'\0' * (1 << 20)) + stream.flush(zlib.Z_FULL_FLUSH)
    piece = stream.compress(b'\0' * (1 << 20)) + stream.flush(zlib.Z_FULL_FLUSH)
    return head + piece * ((size >> 20) - 1)


def make(program, new, size):
    size = int(size)
    with open('section', 'wb') as f:
        f.write(struct.pack('<IIQQ', 1, 0, size, 1) + packed(size))
    subprocess.check_call(['objcopy', '--remove-section', '.debug_str',
                           '--add-section', '.debug_str=section', program, new])
    # objcopy has no name for SHF_COMPRESSED
    with open(new, 'r+b') as f:
        data = f.read()
        shoff, = struct.unpack_from('<Q', data, 0x28)
        shentsize, shnum, shstrndx = struct.unpack_from('<HHH', data, 0x3a)
        names, = struct.unpack_from('<Q', data, shoff + shstrndx * shentsize + 0x18)
        for i in range(shnum):
            at = shoff + i * shentsize
            name, = struct.unpack_from('<I', data, at)
            if data[names + name:].startswith(b'.debug_str\0'):
                f.seek(at + 8)
                f.write(struct.pack('<Q', 0x800))


def run(most, *command):
    subprocess.run(command, timeout=60)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    if used > int(most):
        sys.exit('took %d MB' % (used >> 20))


def listen(port, told):
    server = socket.create_server(('127.0.0.1', int(port)))
    server.accept()
    with open(told, 'w') as f:
        f.write('somebody asked a server\n')


{'make': make, 'run': run, 'listen': listen}[sys.argv[1]](*sys.argv[2:])
