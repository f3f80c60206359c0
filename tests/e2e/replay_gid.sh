#!/usr/bin/env bash
# Another machine with the same device has other GIDs, and more or fewer completion vectors. The GID
# index of the program is replaced by that of a GID of the same kind.
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE
export VERBATIM_QUIET=1
cd "$tmp" || exit 1

cat >other <<'END'
port.1.link_layer ethernet
port.1.gid.0   fe80::2:c903:fe:d671 rocev1
port.1.gid.1   fe80::2:c903:fe:d671 rocev2
port.1.gid.2   2001:db8::7 rocev1
port.1.gid.3   2001:db8::7 rocev2
port.1.gid.5   ::ffff:192.168.1.7 rocev1
port.1.gid.6   ::ffff:192.168.1.7 rocev2
END

record() { # program, options
	VERBATIM_SOFT_LINK=roce timeout 60 "$VERBATIM" record --device soft -o t.db -- \
		"$both" "$@" -n 20 >out 2>&1 || { cat out; return 1; }
}

# The replay is recorded, too: the GIDs that it used, by index.
replay() { # trace, options
	VERBATIM_SOFT_PERSONA=$tmp/other timeout 60 "$VERBATIM" record --device soft -o r.db -- \
		"$VERBATIM" replay --device soft --faults none "$@" >out 2>&1 &&
		says '^no divergence' out || { cat out; return 1; }
}

named() { # path of the address in the arguments
	"$VERBATIM" sql r.db "SELECT DISTINCT json_extract(args, '$.$1.grh.sgid_index') || ' ' ||
		json_extract(args, '$.$1.grh.dgid.raw') FROM call
		WHERE json_extract(args, '$.$1.is_global') AND failed = 0"
}

v4=00000000000000000000ffffc0a80107 local=fe800000000000000002c90300fed671

the_kind_counts() {
	record ibv_rc_pingpong -g 3 && replay t.db && is "$(named attr.ah_attr)" "6 $v4" &&
		says 'note: GID index 3 of verbatim0 is index 6 of verbatim0 in the replay' out
}
so_it_does_for_link_local_ones() {
	record ibv_rc_pingpong -g 1 && replay t.db && is "$(named attr.ah_attr)" "1 $local" &&
		! grep 'GID index' out
}
of_datagrams() {
	record ibv_ud_pingpong -g 3 && replay t.db && is "$(named attr)" "6 $v4"
}
of_a_made_peer() {
	export VERBATIM_SOFT_LINK=roce VERBATIM_DEVICE=soft
	record_both_sides -g 3 -n 20
	unset VERBATIM_SOFT_LINK VERBATIM_DEVICE
	replay t.db && says 'made 1 peer' out && is "$(named attr.ah_attr)" "6 $v4"
}

# Same attributes, so the same device; @from and @to are lines of the software device's profile.
machine() { # from, to
	echo "$1" >from && echo "$2" >to
	VERBATIM_SOFT_PERSONA=$tmp/from timeout 60 "$VERBATIM" record --device soft -o m.db -- \
		./machine >out 2>&1 || { cat out; return 1; }
	VERBATIM_SOFT_PERSONA=$tmp/to timeout 60 "$VERBATIM" replay --device soft --faults none \
		m.db >out 2>&1
	is "replay's status" $? 0 && says '^no divergence$' out && ! grep "another device" out ||
		{ cat out; return 1; }
}
another_machine_is_no_divergence() {
	local few="num_comp_vectors 1" many="num_comp_vectors 5" lines
	${CC:-cc} -o machine "$root/tests/e2e/replay/machine.c" -libverbs || return
	lines=$(cat other)
	machine "$many" "$few" && machine "$few" "$many" &&
		machine "$few
$lines" "$many
port.1.link_layer ethernet" && says 'the number of completion vectors' out &&
		machine "$many
port.1.link_layer ethernet" "$few
$lines" && says 'the number of completion vectors' out && says 'its LID and GIDs' out
}

try the_kind_counts
try another_machine_is_no_divergence
try so_it_does_for_link_local_ones
try of_datagrams
try of_a_made_peer
exit $failed
