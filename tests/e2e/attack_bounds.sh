#!/usr/bin/env bash
# Traces that demand absurd amounts of memory or time: each command ends, within bounds, with one
# sentence.
cd "$(dirname "$0")/../.." || exit 1
. tests/e2e/lib/try.sh
needs "$apps/loop" "$apps/payload"
cd "$tmp" || exit 1
"$VERBATIM" record -q -o loop.db "$apps/loop" counts 20 ||
	{ echo "not ok attack_bounds: record: status $?"; exit 1; }
"$VERBATIM" record -q --payload full -o payload.db "$apps/payload" >/dev/null ||
	{ echo "not ok attack_bounds: record: status $?"; exit 1; }
python3 "$root/tests/e2e/lib/bounds.py" "$VERBATIM" loop.db payload.db "$@"
