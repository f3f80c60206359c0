#!/usr/bin/env bash
# The short part of the tests on kernel devices: `make test-hardware` runs all of tests/hardware.
# Its machine takes 30 s of processor: for LONG=1.
if [ -z "${LONG:-}" ]; then
	echo "skip hardware: its machine takes 30 s of processor: LONG=1, or make test-hardware"
	exit 0
fi
exec bash tests/hardware/short.sh
