#!/usr/bin/env bash
# rdma-core's own tests, those of pyverbs, on the software device: both links,
# as a preload and as a drop-in. They skip what a device does not have, so more
# of that than is known is a failure, too.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$PWD/${BUILD:-build}
tests=/usr/share/doc/rdma-core/tests
python=/usr/bin/python3
failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"; rm -rf "${VERBATIM_SOFT_FABRIC:-$work}"' EXIT
export VERBATIM_SOFT_FABRIC
VERBATIM_SOFT_FABRIC=$(mktemp -d /dev/shm/verbatim-soft-e2e.XXXXXX) || exit 1

# the connection manager's are in rdmacm.sh; the others are drivers'
modules=(addr atomic cq cq_events cqex device flow fork mr odp parent_domain pd
	 qp qpex relaxed_ordering rss_traffic shared_pd tag_matching)

# DMA buffers of a GPU, huge pages, tag matching; Ethernet where there is none
declare -A may_skip=([mr]=10 [odp]=2 [parent_domain]=1 [tag_matching]=4)
declare -A may_skip_ib=([addr]=1 [flow]=5 [qp]=5 [rss_traffic]=1)
[ $EUID -eq 0 ] || may_skip+=([flow]=5 [qp]=5 [rss_traffic]=1)

if ! [ -d $tests ] || ! $python -c 'import pyverbs' 2>/dev/null; then
	echo "skip pyverbs: not installed"
	exit 0
fi
cp -r $tests "$work/tests" && find "$work/tests" -name '*.gz' -exec gunzip {} +
cd "$work" || exit 1

run() { # face, link, module
	local name="$1 $2 pyverbs test_$3" status skipped allowed=${may_skip[$3]:-0}
	[ "$2" = ib ] && allowed=$((allowed + ${may_skip_ib[$3]:-0}))
	timeout 120 "${device[@]}" $python tests/run_tests.py -v "tests.test_$3" \
		>"$work/out" 2>&1
	status=$?
	skipped=$(grep -c "skipped '" "$work/out")
	if [ $status -ne 0 ]; then
		echo "not ok $name: status $status: $(grep -E '^(ERROR|FAIL):|Error' "$work/out" | head -3 | tr '\n' ' ')"
		failed=1
	elif [ -n "$(ls -A "$VERBATIM_SOFT_FABRIC")" ]; then
		echo "not ok $name: left $(ls -A "$VERBATIM_SOFT_FABRIC")"
		failed=1
	elif [ "$skipped" -gt "$allowed" ]; then
		echo "not ok $name: $skipped skipped: $(grep -o "skipped '.*" "$work/out" | sort | uniq -c | head -3 | tr '\n' ' ')"
		failed=1
	else
		echo "ok $name ($skipped skipped)"
	fi
}

# Run all of them.
all() { # face, link, variable that brings the device in
	device=(env "VERBATIM_SOFT_LINK=$2" "$3")
	for module in "${modules[@]}"; do
		run "$1" "$2" "$module"
	done
}

all preload ib "LD_PRELOAD=$build/libverbatim-soft.so"
all preload roce "LD_PRELOAD=$build/libverbatim-soft.so"
all dropin ib "LD_LIBRARY_PATH=$build/dropin"
exit $failed
