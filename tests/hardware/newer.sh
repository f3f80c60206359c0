#!/usr/bin/env bash
# Programs and a recorder that were built against Debian 12's rdma-core run on a kernel device with
# that of Debian 13, which has no backport to 12: the short list once more, in a root of 13.
find_newer() { . tests/hardware/lib/release.sh && find_root trixie $programs; }
if [ -z "${VERBATIM_VM:-}" ]; then
	(. tests/e2e/lib/try.sh; find_newer) || exit 0 # downloaded outside the machine
fi
. tests/hardware/lib/machine.sh
in_machine
find_newer

programs_of_this_release() {
	enter_root && mkdir -p "$root/usr/local/bin" &&
		cp /usr/bin/{ibv_rc_pingpong,ibv_devinfo,ib_write_lat} "$root/usr/local/bin/"
}
is_newer() {
	inside "$VERBATIM" record -q -o "$t" ibv_devinfo >"$tmp/out" ||
		{ cat "$tmp/out"; return 1; }
	is "build ID" "$(inside "$VERBATIM" sql "$t" "SELECT build_id FROM module
			WHERE path LIKE '%/libibverbs.so.1'")" \
		"$(readelf -n "$root/usr/lib/x86_64-linux-gnu/libibverbs.so.1" |
			sed -n 's/.*Build ID: //p')"
}

try "a root of the newer release" programs_of_this_release
inside bash tests/hardware/short.sh | sed 's/ short:/ newer:/'
[ "${PIPESTATUS[0]}" = 0 ] || failed=1
try "recorded with the newer library" is_newer
exit $failed
