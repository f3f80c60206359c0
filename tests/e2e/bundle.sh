# Data that leaves the machine: a bundle and its list, an anonymised trace and its omissions,
# bundles of strangers.
. tests/e2e/lib/try.sh
. tests/e2e/lib/anonymised.sh
cd "$tmp" || exit 1
needs "$apps/guest" "$apps/payload" "$VERBATIM"
bundle() { "$VERBATIM" bundle "$@" >listed; }
unbundle() { "$VERBATIM" unbundle "$@" >unpacked; }

# refuses STATUS TEXT COMMAND...: one line on stderr that has TEXT, no file created
refuses() {
	local status=$1 text=$2 before after
	shift 2
	before=$(find . -mindepth 1 ! -name err ! -name out | sort)
	"$@" >out 2>err
	is "exit status" $? "$status" && is "lines" "$(wc -l <err)" 1 && says "$text" err &&
		after=$(find . -mindepth 1 ! -name err ! -name out | sort) &&
		is "left" "$(diff <(echo "$before") <(echo "$after"))" ""
}

# A user's program, in a private folder, with arguments, marks, payload, addresses.
secret=(zaphod betelgeuse beeblebrox heartofgold magrathea vogon.example)
mkdir -p home/zaphod/betelgeuse
cp "$apps/payload" home/zaphod/betelgeuse/beeblebrox
VERBATIM_LINGER=1m UCX_TLS=heartofgold "$VERBATIM" record -q --payload full -o t.db -- \
	home/zaphod/betelgeuse/beeblebrox >out 2>&1 || { cat out; exit 1; }
sqlite3 t.db "UPDATE meta SET value = 'magrathea' WHERE key = 'host';
	UPDATE meta SET value = value || ' --to vogon.example' WHERE key = 'command'"

# Only the commands that need them load them.
libraries_that_cannot_be_loaded_are_named() {
	mkdir no && : >no/libarchive.so.13 && : >no/libgnutls.so.30 &&
		: >no/libbabeltrace2.so.0 && mkdir ctf && : >ctf/metadata || return
	LD_LIBRARY_PATH=no refuses 4 "install GnuTLS.*libgnutls.so.30" "$VERBATIM" bundle t.db &&
		rm no/libgnutls.so.30 &&
		LD_LIBRARY_PATH=no refuses 4 "install libarchive.*libarchive.so.13" \
			"$VERBATIM" bundle t.db &&
		LD_LIBRARY_PATH=no refuses 4 "install babeltrace2.*libbabeltrace2.so.0" \
			"$VERBATIM" import -o i.db ctf && rm -r no ctf
}

a_bundle_is_what_it_lists() {
	bundle t.db && unbundle t.bundle || return
	is files "$(ls t | paste -sd' ')" \
		"builds.txt doctor.txt report.html trace.db versions.txt" || return
	says '</html>' t/report.html && says '^[a-z]' t/doctor.txt || return
	for each in t/*; do says "^  ${each#t/} " listed && says "^  ${each#t/} .* $(sha256sum \
		<"$each" | cut -d' ' -f1)$" unpacked || return; done
	is "trace" "$("$VERBATIM" dump --payload full t/trace.db | sha256sum)" \
		"$("$VERBATIM" dump --payload full t.db | sha256sum)" &&
		says "host names: 1 (magrathea)" listed && says "build ids" listed &&
		is "mode" "$(stat -c %a t.bundle t t/trace.db | paste -sd' ')" "600 700 600"
}
what_would_be_in_it_is_only_listed() {
	bundle -l -o other.bundle t.db && says "^  trace.db " listed &&
		is "$(find . -name 'other*')" ""
}
the_list_is_there_before_the_bundle() {
	mkfifo list
	"$VERBATIM" bundle -o slow.bundle t.db >list & local pid=$!
	exec 3<list
	read -r -u 3 line && is "$line" "slow.bundle:" || return
	cat <&3 >rest
	wait $pid && [ -s slow.bundle ]
}
other_programs_unpack_it() {
	mkdir other && tar --zstd -C other -xf t.bundle && rm other/manifest.json &&
		is "$(diff -r t other)" ""
}

# Each place that may contain a name: the tables, packed and unpacked, the page, the texts.
looks_for() { # file with the texts to find, files...
	local list=$1 each
	shift
	while read -r each; do
		! grep -qaiF -e "$each" "$@" || { echo "'$each' is in $(grep -laiF -e "$each" "$@")"
			return 1; }
	done <"$list"
}
gids() { "$VERBATIM" sql "$1" "SELECT DISTINCT gid FROM gid WHERE gid NOT LIKE 'ff%'"; }
# a GID as the kernel writes it, its lower half as numbers, each GUID in both orders
identities() { # trace
	printf '%s\n' "${secret[@]}" "$PWD" "home/zaphod"
	gids "$1"
	gids "$1" | sed 's/..../&:/g; s/:$//'
	"$VERBATIM" sql "$1" "SELECT DISTINCT guid FROM device WHERE guid <> 0"
	"$VERBATIM" sql "$1" "SELECT DISTINCT printf('%016x', guid) FROM device WHERE guid <> 0"
	"$VERBATIM" sql "$1" "SELECT DISTINCT ret FROM call WHERE verb = 'ibv_get_device_guid'"
}
texts_of() { # trace, to: all readable data
	"$VERBATIM" unpack -o plain.db "$1" && strings -n 3 plain.db "$1" >"$2" &&
		"$VERBATIM" dump --payload full "$1" >>"$2" && rm plain.db
}
nothing_of_the_original_is_left() {
	bundle -a -o a.bundle t.db && unbundle a.bundle && texts_of t.db was &&
		texts_of a/trace.db became || return
	identities t.db | sort -u >looked
	for each in "${secret[@]}" "$(gids t.db | head -1)"; do # else the checks below show nothing
		grep -qiF -e "$each" was || { echo "'$each' is not in the original"; return 1; }
	done
	echo "looked for: $(paste -sd' ' looked)"
	looks_for looked became a/* a.bundle || return
	# the bytes that were sent
	local messages='SELECT count(*), sum(captured) FROM payload'
	is "payload" "$("$VERBATIM" sql a/trace.db "SELECT count(*) FROM payload
		WHERE replace(hex(bytes), '0', '') <> ''")" 0 &&
		is "messages" "$("$VERBATIM" sql a/trace.db "$messages")" \
			"$("$VERBATIM" sql t.db "$messages")" &&
		"$VERBATIM" info a/trace.db >info && says ^ANONYMISED info &&
		says '</html>' a/report.html &&
		is "doctor" "$(ls a/doctor.txt 2>&1 >out | wc -l)" 1
}
# rping's, which has the address of its peer and its first message; its peers are elsewhere then.
addresses_of_connections_are_replaced() {
	next_port
	"$VERBATIM" record -q --payload full -o cm.db -- bash -c "
		rping -s -C 2 -a 127.0.0.1 -p $port & server=\$!
		until rping -c -C 2 -a 127.0.0.1 -p $port; do sleep 0.02; done
		wait \$server" >out 2>&1
	sqlite3 cm.db "UPDATE call SET args = replace(args, '127.0.0.1', '192.168.77.5'),
		out = replace(out, '127.0.0.1', '192.168.77.5')"
	bundle -a cm.db && unbundle cm.bundle && texts_of cm.db was &&
		texts_of cm/trace.db became || return
	printf '%s\n' 192.168.77.5 rdma-ping >looked
	for each in $(cat looked); do
		grep -qe "$each" was || { echo "'$each' is not in the original"; return 1; }
		! grep -qe "$each" became || { echo "'$each' is there"; return 1; }
	done
	looks_for looked cm/* && is "of one address" \
		"$(grep -oE '\b10\.[0-9]+\.[0-9]+\.[0-9]+' became | sort -u | wc -l)" 1
}

# Bundles of strangers
forge() { python3 "$root/tests/e2e/bundle_forge.py" "$@"; }
damaged_bundles_are_refused() {
	local size each
	size=$(stat -c %s t.bundle)
	for each in 0 10 1000 $((size / 2)) $((size - 1)); do
		head -c "$each" t.bundle >cut.bundle
		refuses 3 bundle "$VERBATIM" unbundle cut.bundle || return
	done
	for each in 5 100 $((size / 2)); do
		cp t.bundle bad.bundle
		printf '\x5a\xa5' | dd of=bad.bundle bs=1 seek="$each" conv=notrunc status=none
		refuses 3 bundle "$VERBATIM" unbundle bad.bundle || return
	done
}
forged_bundles_are_refused() {
	local each
	while read -r each; do
		forge "$each" forged.bundle &&
			refuses 3 forged.bundle timeout 60 "$VERBATIM" unbundle forged.bundle &&
			refuses 3 forged.bundle timeout 60 "$VERBATIM" unbundle -l forged.bundle ||
			{ echo "forged: $each"; return 1; }
	done < <(forge --list)
	forge whole forged.bundle && unbundle forged.bundle && is "$(cat forged/trace.db)" "a trace"
}
# Reading an endless entry of no bytes would never end.
holes_without_end_are_refused() {
	forge endless holes.bundle &&
		refuses 3 "is sparse" timeout 60 "$VERBATIM" unbundle -l holes.bundle
}
# 1 GiB of zeros are 33 kB of zstd.
it_ends_in_time() {
	forge begin begin && cat begin <(head -c 1G /dev/zero) | zstd -q >zeros.bundle &&
		rm begin &&
		refuses 3 deadline timeout 60 "$VERBATIM" unbundle --deadline 0.1s zeros.bundle &&
		refuses 3 deadline timeout 60 "$VERBATIM" unbundle -l --deadline 0.1s zeros.bundle
}
a_bundle_of_more_than_the_disk_has_is_refused() {
	forge huge huge.bundle && refuses 4 "it needs" "$VERBATIM" unbundle huge.bundle
}
what_is_there_is_left_alone() {
	refuses 4 "already exists" "$VERBATIM" bundle t.db &&
		refuses 4 "already exists" "$VERBATIM" unbundle t.bundle &&
		ln -s nowhere link &&
		refuses 4 "already exists" "$VERBATIM" bundle -o link t.db &&
		refuses 4 "already exists" "$VERBATIM" unbundle --directory link t.bundle
}
a_full_disk_leaves_nothing() {
	mkdir -p small && mount -t tmpfs -o size=64k none small || return
	refuses 4 "small" "$VERBATIM" bundle -o small/t.bundle t.db &&
		refuses 4 "small" "$VERBATIM" bundle -a -o small/t.bundle t.db &&
		refuses 4 "small" "$VERBATIM" unbundle --directory small/t t.bundle
	local status=$?
	umount small
	return $status
}
wrong_words_are_reported() {
	refuses 2 "no bundle" "$VERBATIM" unbundle &&
		refuses 2 "one bundle" "$VERBATIM" unbundle a b &&
		refuses 4 nothing.bundle "$VERBATIM" unbundle nothing.bundle &&
		refuses 3 "is not a file" "$VERBATIM" unbundle home --directory there &&
		: >.bundle && refuses 2 "--directory DIR" "$VERBATIM" unbundle .bundle
}

for each in libraries_that_cannot_be_loaded_are_named \
	a_bundle_is_what_it_lists what_would_be_in_it_is_only_listed \
	the_list_is_there_before_the_bundle other_programs_unpack_it \
	nothing_of_the_original_is_left addresses_of_connections_are_replaced \
	damaged_bundles_are_refused forged_bundles_are_refused \
	holes_without_end_are_refused it_ends_in_time \
	a_bundle_of_more_than_the_disk_has_is_refused what_is_there_is_left_alone \
	wrong_words_are_reported; do
	try $each
done
if unshare -m true 2>err; then try a_full_disk_leaves_nothing
else skip "a full disk leaves nothing" "no name space of mounts: $(head -1 err)"; fi
