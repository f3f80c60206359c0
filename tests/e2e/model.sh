# model_run: random sequences of verbs print the same in each run, recorded or not.
BUILD=${BUILD:-build}
VERBATIM=${VERBATIM:-$PWD/$BUILD/verbatim}
run=$PWD/$BUILD/tests/apps/model_run
soft=$PWD/$BUILD/libverbatim-soft.so
tmp=$(mktemp -d) || exit 1
mkdir "$tmp/sessions"
export VERBATIM_SESSIONS=$tmp/sessions VERBATIM_SOFT_FABRIC=$tmp/fabric VERBATIM_DEVICE=soft
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1

try() {
	local out
	if out=$("$1" 2>&1); then echo "ok model: ${1//_/ }"; else echo "not ok model: ${1//_/ }: ${out:0:600}"; fi
}

two_runs_are_alike() {
	LD_PRELOAD=$soft timeout 60 "$run" 1 100 >one || { tail -5 one; return 1; }
	LD_PRELOAD=$soft timeout 60 "$run" 1 100 >two || { tail -5 two; return 1; }
	cmp one two
}

a_recorded_run_is_alike() {
	LD_PRELOAD=$soft timeout 60 "$run" 1 100 >one || { tail -5 one; return 1; }
	timeout 100 "$VERBATIM" record -o t.db -- "$run" 1 100 >two || { tail -5 two; return 1; }
	grep -v '^verbatim' two | cmp one -
}

try two_runs_are_alike
try a_recorded_run_is_alike
