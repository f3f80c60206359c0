#!/usr/bin/env python3
"""Check the invariant CRC of each RoCE v2 packet of a pcapng file, independently of the device.

Prints the number of good and of bad packets.
"""
import struct
import sys
import zlib


def packets(data):
    at = 0
    while at < len(data):
        kind, size = struct.unpack_from('<II', data, at)
        if kind == 6:  # enhanced packet block
            captured = struct.unpack_from('<I', data, at + 20)[0]
            yield data[at + 28:at + 28 + captured]
        at += size


def check_ipv4(ip):
    masked = bytearray(ip)
    for i in (1, 8, 10, 11, 26, 27, 32):  # TOS, TTL, both checksums, FECN and BECN
        masked[i] = 0xff
    return masked


def check_ipv6(ip):
    masked = bytearray(ip)
    masked[0] |= 0x0f  # traffic class and flow label
    for i in (1, 2, 3, 7, 46, 47, 52):  # hop limit, checksum, FECN and BECN
        masked[i] = 0xff
    return masked


def is_roce(ip, udp):
    return struct.unpack_from('>H', ip, udp + 2)[0] == 4791


counts = [0, 0]
for packet in packets(open(sys.argv[1], 'rb').read()):
    ether, ip = packet[12:14], packet[14:]
    if ether == b'\x08\x00' and ip[9] == 17 and is_roce(ip, 20):
        ip = ip[:struct.unpack_from('>H', ip, 2)[0]]
        masked = check_ipv4(ip)
    elif ether == b'\x86\xdd' and ip[6] == 17 and is_roce(ip, 40):
        ip = ip[:40 + struct.unpack_from('>H', ip, 4)[0]]
        masked = check_ipv6(ip)
    else:
        continue
    crc = zlib.crc32(b'\xff' * 8 + bytes(masked[:-4]))
    counts[struct.pack('<I', crc) != bytes(ip[-4:])] += 1
print(*counts)
