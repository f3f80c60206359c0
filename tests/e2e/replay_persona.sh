#!/usr/bin/env bash
# The software device takes the recorded device's attributes, so that a program meets its limits.
. tests/e2e/lib/try.sh
export VERBATIM_QUIET=1
unset VERBATIM_DEVICE
needs "$apps/limits"
cd "$tmp" || exit 1

cat >machine <<END
name           mlx5_0
fw_ver         20.31.1014
node_guid      0x0002c90300fed670
vendor_id      0x02c9
vendor_part_id 4123
max_qp         5
max_qp_wr      100
max_cqe        1000
max_sge        30
port.1.lid     17
port.1.gid.0   fe80::2:c903:fe:d671
port.2.link_layer ethernet
port.2.gid.0   fe80::2:c9ff:fefe:d672 rocev1
port.2.gid.1   fe80::2:c9ff:fefe:d672 rocev2
port.2.gid.3   ::ffff:192.168.1.7 rocev2
END

record() { # PROGRAM...
	VERBATIM_SOFT_PERSONA=$tmp/machine timeout 60 "$VERBATIM" record --device soft -o t.db -- \
		"$@" >out 2>&1 || { echo "recording: $(tail -1 out)"; return 1; }
}

replay() {
	timeout 60 "$VERBATIM" replay --device soft --timeout 1s --report report "$@" t.db >out 2>&1
}

has() { is "$1" "$(jq "$1" report)" "$2"; }

# no fault is injected: the limits are real
limits_are_hit() {
	record "$apps/limits" && says '5 queue pairs, 2 ports' out && replay &&
		has .counts.faults 0 && has .divergences 0 && has .device \
		'"mlx5_0, the software device"'
}
try limits_are_hit

limits_of_its_own() {
	replay --persona none --faults none
	has .divergences 3 && has .device '"verbatim0"' && replay --persona none &&
		has .counts.faults 3 && has .divergences 0
}
try limits_of_its_own

# the replay is one process: the limit of each is not that of all
limits_of_each_process() {
	record sh -c "'$apps/limits' & '$apps/limits'; wait" && replay && has .divergences 0
}
try limits_of_each_process

# a device that the user describes takes precedence
users_own_description() {
	record "$apps/limits" && sed 's/mlx5_0/mlx5_7/' machine >other &&
		VERBATIM_SOFT_PERSONA=$tmp/other replay && has .device \
		'"mlx5_7, the software device"'
}
try users_own_description

# the device's own way of rounding is not a divergence: it is another device
other_device_rounds() {
	record "$apps/limits" && "$VERBATIM" unpack -o u.db t.db >out 2>&1 && mv u.db t.db &&
		sqlite3 t.db "UPDATE meta SET value = 'mlx5_0' WHERE key = 'device';
			UPDATE call SET out = json_set(out, '\$.ret.cqe', 15) WHERE verb =
			'ibv_create_cq' AND NOT failed" && replay &&
		says 'a size that devices round differently' out
}
if command -v sqlite3 >/dev/null; then try other_device_rounds
else skip "other device rounds" "sqlite3 is not installed"; fi

# the attributes of the device in a trace may be anything
damaged_description() {
	local each
	for each in "attr = '{'" "attr = json_set(attr, '\$.orig_attr.max_qp', -5)" \
		"attr = json_set(attr, '\$.orig_attr.max_sge', 1 << 40)" "name = 'a b'" \
		"attr = json_set(attr, '\$.orig_attr.vendor_id', 'x')" "fw_ver = '#'" \
		"fw_ver = ''" "name = ''" "name = NULL" "fw_ver = printf('%063d', 1)" \
		"fw_ver = printf('%064d', 1)"; do
		cp t.db d.db
		sqlite3 d.db "UPDATE device SET $each"
		timeout 60 "$VERBATIM" replay --device soft d.db >out 2>&1
		[ $? -le 1 ] || { echo "$each: $(cat out)"; return 1; }
	done
}
# On a machine with several devices a program finds all of them, and opens one; perftest asks for
# each entry of a table of GIDs, which is longer there.
other_devices_and_entries() {
	record ibv_devices && replay --persona none || { cat out; return 1; }
	says 'a device that the program only found in a list' out && record ibv_devinfo -v &&
		replay --persona none && says '^no divergence' out || return
	cp t.db d.db && sqlite3 d.db "UPDATE call SET verb = 'ibv_query_gid_ex', ret = 61,
		error = 61, failed = 1, out = '{}', args = json_set(args, '\$.gid_index', 1000,
		'\$.flags', 0, '\$.entry_size', 32) WHERE verb = 'ibv_query_gid'" &&
		is queries "$(sqlite3 d.db "SELECT count(*) > 0 FROM call WHERE ret = 61")" 1 &&
		timeout 60 "$VERBATIM" replay --device soft --persona none d.db >out 2>&1 &&
		says '^no divergence' out && says 'an index beyond a table of this port' out
}
# Its queue pairs are connected within the kernel: that is reported before any call.
iwarp_is_printed_first() {
	record "$both" ibv_rc_pingpong -n 5 -r 50 && sqlite3 t.db "UPDATE device
		SET transport_type = 'IBV_TRANSPORT_IWARP'" || return
	replay --persona none
	is status $? 4 && says 'needs iWARP queue pairs, connected by librdmacm' out
}
if command -v sqlite3 >/dev/null; then try iwarp_is_printed_first
else skip "iwarp is said first" "sqlite3 is not installed"; fi
if command -v sqlite3 >/dev/null; then try other_devices_and_entries
else skip "other devices and entries" "sqlite3 is not installed"; fi
if command -v sqlite3 >/dev/null; then try damaged_description
else skip "damaged description" "sqlite3 is not installed"; fi
exit $failed
