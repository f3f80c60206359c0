# bundle_forge.py KIND FILE: a bundle that must not be unpacked, except `whole` bundle_forge.py
# --list: the kinds of those
# bundle_forge.py begin FILE: one of 1 GiB, up to where they begin
import hashlib
import io
import json
import sys
import tarfile

BYTES = b"a trace"


def entry(name, data=BYTES, **more):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in more.items():
        setattr(info, key, value)
    return info, data


def listed(name="trace.db", data=BYTES, **more):
    return {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), **more}


def manifest(*files, **more):
    text = {"format": "verbatim bundle", "version": 1, "files": list(files), **more}
    return entry("manifest.json", json.dumps(text).encode())


# Holes in the format of GNU tar: @size bytes, of which the archive has the last few
def sparse(size):
    holes = {"GNU.sparse.name": "trace.db", "GNU.sparse.size": str(size),
             "GNU.sparse.map": f"{size - len(BYTES)},{len(BYTES)}"}
    return [manifest(listed(bytes=size)), entry("trace.db", pax_headers=holes)]


FORGED = {
    "other": [entry("trace.db")],
    "late": [entry("trace.db"), manifest(listed())],
    "version": [manifest(listed(), version=9), entry("trace.db")],
    "no-json": [entry("manifest.json", b"{"), entry("trace.db")],
    "long": [entry("manifest.json", b" " * (1 << 17)), entry("trace.db")],
    "missing": [manifest(listed(), listed("report.html")), entry("trace.db")],
    "more": [manifest(listed()), entry("trace.db"), entry("run.sh")],
    "twice": [manifest(listed()), entry("trace.db"), entry("trace.db")],
    "digest": [manifest(listed(sha256="0" * 64)), entry("trace.db")],
    "shorter": [manifest(listed(bytes=9)), entry("trace.db")],
    "longer": [manifest(listed(bytes=3)), entry("trace.db")],
    "parent": [manifest(listed("../trace.db")), entry("../trace.db")],
    "above": [manifest(listed()), entry("../trace.db")],
    "absolute": [manifest(listed()), entry("/tmp/trace.db")],
    "hidden": [manifest(listed(".trace.db")), entry(".trace.db")],
    "link": [manifest(listed()),
             entry("trace.db", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd")],
    "hard": [manifest(listed()),
             entry("trace.db", b"", type=tarfile.LNKTYPE, linkname="manifest.json")],
    "folder": [manifest(listed()), entry("trace.db", b"", type=tarfile.DIRTYPE)],
    "holes": sparse(1 << 10),
    "sum": [manifest(*(listed(f"{name}.db", bytes=1 << 62) for name in "abcd")),
            entry("a.db", b" " * 4096)],
    "fifo": [manifest(listed()), entry("trace.db", b"", type=tarfile.FIFOTYPE)],
}
OTHERS = {
    "whole": [manifest(listed()), entry("trace.db")],
    "endless": sparse(1 << 50),
    "huge": [manifest(listed(bytes=1 << 60)), entry("trace.db")],
}

if sys.argv[1] == "--list":
    print("\n".join(FORGED))
elif sys.argv[1] == "begin":
    with open(sys.argv[2], "wb") as archive:
        for info, data in manifest(listed(bytes=1 << 30)), entry("trace.db", b"", size=1 << 30):
            archive.write(info.tobuf() + data + bytes(-len(data) % 512))
else:
    with tarfile.open(sys.argv[2], "w", format=tarfile.PAX_FORMAT) as archive:
        for info, data in {**FORGED, **OTHERS}[sys.argv[1]]:
            archive.addfile(info, io.BytesIO(data))
