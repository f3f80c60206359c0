#!/bin/sh
# Debian's packages in a fresh system: installed, used as at the beginning of README.md, removed.
# tests/package/deb.sh DIRECTORY-OF-THE-PACKAGES; as root, with a mirror; `make test-deb`
set -u
[ "$(id -u)" = 0 ] || { echo "$0: needs root, for debootstrap and chroot" >&2; exit 1; }
[ -n "${OWN_MOUNTS-}" ] ||
	exec env OWN_MOUNTS=1 unshare --mount --propagation private "$0" "$@"

packages=${1:?the directory of the packages}
root=$(mktemp -d) failed=0
chmod 755 "$root" # users go in
remove() {
	umount -q "$root/proc" "$root/dev/shm"
	rm -rf --one-file-system "$root" "$root.log"
}
trap remove EXIT
trap 'exit 1' INT TERM

suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
debootstrap --variant=minbase "$suite" "$root" >"$root.log" 2>&1 ||
	{ tail "$root.log"; echo "not ok deb: debootstrap: no $suite"; exit 1; }
rm "$root.log"
mount -t proc proc "$root/proc" && mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" || exit 1

inside() { LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }
# as USER, in the user's home, with only its own network
as() { user=$1; shift
	unshare --net sh -c 'ip link set lo up && exec chroot "$@"' sh --userspec="$user" "$root" \
		env HOME="/home/$user" LC_ALL=C.UTF-8 timeout 120 sh -ec "cd && $*"
}
try() { name=$1; shift
	"$@" >"$root/tmp/log" 2>&1
	status=$?
	[ $status = 0 ] && { echo "ok deb: $name"; return; }
	tail -n 20 "$root/tmp/log"
	echo "not ok deb: $name: exit status $status"
	failed=1
}

installs() {
	mkdir "$root/tmp/packages" && cp "$packages"/*.deb "$root/tmp/packages/" &&
		rm -f "$root"/tmp/packages/*-dbgsym_* || return
	inside sh -c 'dpkg -i /tmp/packages/*.deb' # apt installs the dependencies
	inside apt-get -q -y --fix-broken --no-install-recommends install &&
		inside dpkg --verify verbatim libverbatim-dev verbatim-slurm &&
		inside dpkg-query -W -f '${Status}\n' verbatim libverbatim-dev verbatim-slurm |
		awk '!/ok installed/ { bad = 1 } END { exit bad || NR != 3 }'
}
files_are_in_their_places() {
	for f in bin/verbatim include/verbatim.h lib/verbatim/libverbatim.so \
		lib/verbatim/dropin/libibverbs.so.1 share/man/man1/verbatim-record.1.gz \
		share/doc/verbatim/README.md share/doc/verbatim/RULES.md \
		share/doc/verbatim/copyright share/bash-completion/completions/verbatim; do
		[ -f "$root/usr/$f" ] || { echo "no /usr/$f"; return 1; }
	done
}
# the first commands of README.md
records() {
	as "$1" "verbatim record -o t.db -- sh -c 'ibv_rc_pingpong & sleep 1;
		ibv_rc_pingpong localhost'"
}
purges() {
	rm -r "$root/tmp/packages" "$root/home/tester" "$root/home/root"
	inside dpkg --purge verbatim-slurm verbatim libverbatim-dev || return
	find "$root" -xdev -iname '*verbatim*' >"$root/tmp/left"
	find "$root/dev/shm" -mindepth 1 >>"$root/tmp/left"
	cat "$root/tmp/left"
	[ ! -s "$root/tmp/left" ]
}

try installs installs
try "files are in their places" files_are_in_their_places
inside apt-get -q -y --no-install-recommends install ibverbs-utils >/dev/null 2>&1
inside useradd --create-home tester
mkdir "$root/home/root"
echo 127.0.0.1 localhost >"$root/etc/hosts"
for user in tester root; do
	try "records as $user" records $user
	for command in info check stat 'dump --object qp1' replay doctor; do
		try "${command%% *} as $user" as $user "verbatim $command \
			$([ "$command" = doctor ] || echo t.db)"
	done
done
try purges purges
exit $failed
