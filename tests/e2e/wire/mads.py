#!/usr/bin/env python3
"""Send malformed management datagrams to queue pair 1 of another machine.

usage: mads.py FROM TO NUMBER SEED PORT

Their packets are sound. A third are random bytes, the others messages of the connection manager
with random fields; some of these requests are for the listener of librdmacm at PORT.
"""
import random
import socket
import struct
import sys
import zlib

source, dest, number, seed, port = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
dice = random.Random(seed)
QKEY, FLOW = 0x80010000, 0xc123


def make_packet(mad):
    bth = struct.pack('>BBHII', 0x64, 0x40, 0xffff, 1, dice.randrange(1 << 24))
    body = bth + struct.pack('>II', QKEY, 1) + mad
    size = len(body) + 4
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0xff, 28 + size, 0, 0x4000, 0xff, 17, 0xffff,
                     socket.inet_aton(source), socket.inet_aton(dest))
    udp = struct.pack('>HHHH', FLOW, 4791, 8 + size, 0xffff)
    masked = body[:4] + b'\xff' + body[5:]
    return body + struct.pack('<I', zlib.crc32(b'\xff' * 8 + ip + udp + masked))


def make_mad():
    mad = bytearray(dice.randbytes(256))
    if dice.randrange(3):
        mad[:24] = struct.pack('>BBBBHHQHHI', 1, 7, 2, 3, 0, 0, dice.randrange(1 << 64),
                               dice.randrange(0x10, 0x19), 0, 0)
        if dice.randrange(2):  # small numbers of connections, which may exist
            mad[24:32] = struct.pack('>II', dice.randrange(4), dice.randrange(4))
        if not dice.randrange(20):
            mad[32:40] = struct.pack('>Q', 0x01060000 | port)
    return bytes(mad[:dice.choice([256] * 9 + [0, 24, 252])])


sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO: no identification
sender.bind((source, FLOW))
for _ in range(number):
    sender.sendto(make_packet(make_mad()), (dest, 4791))
