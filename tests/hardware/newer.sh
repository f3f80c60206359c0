#!/usr/bin/env bash
# Programs and a recorder that were built against Debian 12's rdma-core run with that of Debian 13,
# which has no backport to 12: the short list once more, in a root of its own.
release=trixie
cache=${XDG_CACHE_HOME:-$HOME/.cache}/verbatim-vm
newer=$cache/$release
packages=rdma-core,ibverbs-providers,librdmacm1t64,iproute2,jq,libpci3
packages+=,libsqlite3-0,libzstd1,libdw1t64,libbabeltrace2-0,libedit2,libunwind8,liblttng-ust1t64

make_root() {
	[ ! -d "$newer" ] || return 0
	mkdir -p "$cache" && rm -rf "$newer.new" &&
		debootstrap --variant=minbase --include=$packages $release "$newer.new" \
			>"$newer.log" 2>&1 &&
		mv "$newer.new" "$newer"
}

enter_root() {
	local each
	cp /usr/bin/{ibv_rc_pingpong,ibv_devinfo,ib_write_lat} "$newer"/usr/local/bin/
	cp /etc/hosts "$newer"/etc/
	for each in /proc /sys /dev /dev/shm "$PWD"; do
		mkdir -p "$newer$each" && mount --bind $each "$newer$each" || return
	done
}

# The loader names the library's file: libibverbs.so.1.14.56.1 is rdma-core 56.1.
is_newer() {
	local version
	version=$(readlink -f "$newer"/usr/lib/x86_64-linux-gnu/libibverbs.so.1)
	version=${version##*.so.1.*.}
	"$VERBATIM" sql "$newer"/tmp/newer.db "SELECT path FROM module" |
		grep "libibverbs.so.*$version"
}

[ -n "${VERBATIM_VM:-}" ] || make_root ||
	{ echo "skip newer: no root of Debian's $release: $(tail -n 1 "$newer.log")"; exit 0; }
. tests/hardware/lib/machine.sh
in_machine -t 300
try "a root of the newer release" enter_root
in_root=(chroot "$newer" env -C "$PWD" TMPDIR=/tmp HOME=/root VERBATIM_SESSIONS=/tmp)
"${in_root[@]}" bash tests/hardware/short.sh | sed 's/ short:/ newer:/'
try "recorded with the newer library" eval '
	"${in_root[@]}" "$VERBATIM" record -q -o /tmp/newer.db ibv_devinfo >"$tmp/out" && is_newer'
exit $failed
