#!/usr/bin/env bash
# Forks and huge pages on kernel devices: the kernel copies registered pages for a child, so only
# mistakes that matter nevertheless are found.
. tests/hardware/lib/machine.sh
in_machine -l both
cd "$tmp" || exit 1
export VERBATIM_DEVICE=rxe0 # the first device, which programs use
ask() { "$VERBATIM" check --format json "$t" | jq -r "$1"; }
whole() { is lost "$(sql 'SELECT coalesce(sum(events), 0) FROM loss')" 0; }

same_as_bare() { # program, arguments
	local bare status
	bare=$(timeout 600 "$@" 2>&1; echo "status $?")
	status=$(timeout 600 "$VERBATIM" record --memory -q -o "$t" "$@" 2>&1; echo "status $?")
	is "result" "$status" "$bare" && whole
}

# expected text on a kernel that copies
found_of() { # program, rules
	same_as_bare "$apps/$1" &&
		is "findings of $1" "$(ask '[.findings[].rule] | unique | join(" ")')" "$2" &&
		same_as_bare "$apps/$1" good &&
		is "findings of $1 good" "$(ask '.findings | length')" 0
}

forks_that_a_copying_kernel_forgives() {
	local each
	for each in fork_001 fork_002 fork_004 fork_007; do
		found_of $each "" || return
	done
}

parents_object_in_a_child() {
	same_as_bare "$apps/fork_003" && is rule "$(ask '.findings[0].rule')" FORK-003
}

child_that_destroys() {
	same_as_bare "$apps/child_destroys" &&
		is findings "$(ask '[.findings[].rule] | unique | join(" ")')" FORK-003
}

descriptors_are_inherited_here_too() { found_of fork_008 FORK-008; }

huge_pages() { # environment
	local -x "$@"
	same_as_bare "$apps/huge_pages" && is found "$(ask '.findings | length')" 0 &&
		"$VERBATIM" replay "$t" >out || { cat out; return 1; }
}

echo 32 >/proc/sys/vm/nr_hugepages
try forks_that_a_copying_kernel_forgives
try parents_object_in_a_child
try child_that_destroys
try descriptors_are_inherited_here_too
try "huge pages" huge_pages X=
try "huge pages under fork support" huge_pages RDMAV_FORK_SAFE=1
try "huge pages, both variables" huge_pages RDMAV_FORK_SAFE=1 RDMAV_HUGEPAGES_SAFE=1
rdma link delete rxe0
export VERBATIM_DEVICE=siw0
try "forks on siw" forks_that_a_copying_kernel_forgives
exit $failed
