# Sourced first by tests in a root of another release of Debian, whose programs run with our
# libraries:
#
#	in_own_mounts			runs the whole list once more, with its own mounts
#	make_root RELEASE PACKAGE...	$root, or 1 after a line that says why it is skipped; it is
#					find_root RELEASE PACKAGE..., and enter_root
#	inside COMMAND...		in it, in this folder
#	shows_the_device, runs_bare, runs_recorded
#					tests of its programs; $enter starts them (inside), $muted
#					has options of `verbatim check`
#
# The root is extracted, not configured, and kept in the cache of virtual machines for the next run.
# What `build/verbatim` needs is in it.
ours="grep sed iproute2 jq libsqlite3-0 libzstd1 libdw1t64 libbabeltrace2-0 libedit2 libncursesw6
	libgnutls30t64 libarchive13t64 libunwind8"
# the packages for lists on a whole release, so that they share its root
programs="ibverbs-utils ibverbs-providers rdma-core librdmacm1t64 rdmacm-utils python3-pyverbs
	perftest ucx-utils procps"

in_own_mounts() {
	[ -z "${OWN_MOUNTS:-}" ] || return 0
	[ "$(id -u)" = 0 ] || { echo "skip $(basename "$0" .sh): needs root, for chroot"; exit 0; }
	OWN_MOUNTS=1 exec unshare --mount --propagation private bash "$0"
}

# A mirror's copy may be older than its signature allows.
extract_root() { # release, packages
	local release=$1
	shift
	rm -rf "$root.new" && mkdir -p "${root%/*}" &&
		mmdebstrap --quiet --variant=extract --aptopt='Acquire::Check-Valid-Until "false"' \
			--include="$(printf '%s,' bash coreutils libc-bin $ours "$@")" "$release" \
			"$root.new" >"$root.log" 2>&1 &&
		mv "$root.new" "$root"
}

find_root() { # release, packages
	local release=$1 sum
	sum=$(echo $ours "$@" | cksum)
	root=${XDG_CACHE_HOME:-$HOME/.cache}/verbatim-vm/$release-${sum%% *}
	[ -d "$root" ] || extract_root "$@" || {
		skip "$release" "no root of it: $(grep -m 1 ^E: "$root.log" ||
			tail -n 1 "$root.log")"
		return 1
	}
}

enter_root() {
	local each
	for each in /proc /sys /dev /dev/shm "$PWD" "$tmp"; do
		mkdir -p "$root$each" && mount --bind "$each" "$root$each" || return
	done
	cp /etc/hosts "$root/etc/" && ldconfig -r "$root"
}

make_root() { find_root "$@" && enter_root; }

in_root() { echo chroot "$root" env -C "$PWD" HOME=/root TMPDIR="$tmp" LC_ALL=C.UTF-8; }

inside() { $(in_root) "$@"; }

# With its own terminal, as /dev/tty.
inside_terminal() { script -qec "$(in_root) $(printf '%q ' "$@")" /dev/null </dev/null; }

version_of() { # from the root's rdma-core
	basename "$(readlink -f "$root"/usr/lib/x86_64-linux-gnu/libibverbs.so.1)" |
		sed 's/.*\.so\.1\.[0-9]*\.//'
}

enter=inside muted=()
# As preload and as drop-in, the programs of that release succeed.
faces=("LD_PRELOAD=$libs/libverbatim-soft.so" "LD_LIBRARY_PATH=$libs/dropin")

shows_the_device() {
	local face
	for face in "${faces[@]}"; do
		inside env "$face" ibv_devinfo -v >"$tmp/out" && says verbatim0 "$tmp/out" || return
	done
}

runs_bare() { # program, arguments
	local face
	for face in "${faces[@]}"; do
		$enter timeout 600 env "$face" tests/e2e/lib/both "$@" >"$tmp/out" 2>&1 ||
			{ echo "$face: $(tail -n 5 "$tmp/out")"; return 1; }
	done
}

runs_recorded() { # program, arguments
	rm -f "$t"
	$enter timeout 600 "$VERBATIM" record -q -o "$t" -- tests/e2e/lib/both "$@" \
		>"$tmp/out" 2>&1 || { tail -n 5 "$tmp/out"; return 1; }
	is lost "$(inside "$VERBATIM" sql "$t" 'SELECT coalesce(sum(events), 0) FROM loss')" 0 &&
		inside "$VERBATIM" check "${muted[@]}" "$t" >"$tmp/out" &&
		inside timeout 600 "$VERBATIM" replay "$t" >"$tmp/out" 2>&1 ||
		{ head -n 20 "$tmp/out"; return 1; }
}
