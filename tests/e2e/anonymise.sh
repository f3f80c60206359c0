# For each trace of the conformance set, commands print the same when it is anonymised.
. tests/e2e/lib/try.sh
. tests/e2e/lib/anonymised.sh
for each in tests/conformance/soft/*.db tests/conformance/rxe/*.db; do
	try "${each#tests/conformance/}" anonymised_is_same "$each"
done
