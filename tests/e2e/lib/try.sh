# Sourced by tests that record small programs on the software device: `try NAME` is a test, $t the trace.
BUILD=${BUILD:-build}
VERBATIM=${VERBATIM:-$PWD/$BUILD/verbatim}
tmp=$(mktemp -d) || exit 1
export VERBATIM_SOFT_FABRIC=$tmp/fabric
trap 'rm -rf "$tmp"' EXIT
t=$tmp/t.db

try() { # function, named by what holds
	local of out
	of=$(basename "$0" .sh)
	if out=$("$1" 2>&1); then echo "ok $of: ${1//_/ }"; else echo "not ok $of: ${1//_/ }: $out"; fi
}

is() { [ "$1" = "$2" ] || { echo "$1 instead of $2"; return 1; }; }
sql() { "$VERBATIM" sql "$t" "$1"; }
