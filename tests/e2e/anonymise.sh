# For every second trace of the conformance set, and with LONG=1 for each, commands print the same
# when it is anonymised.
. tests/e2e/lib/try.sh
. tests/e2e/lib/anonymised.sh
turn=0
for each in tests/conformance/soft/*.db tests/conformance/rxe/*.db; do
	turn=$((1 - turn))
	[ $turn = 1 ] || [ -n "${LONG:-}" ] || continue
	try_in_turn "${each#tests/conformance/}" anonymised_is_same "$each"
done
