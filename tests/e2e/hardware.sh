#!/usr/bin/env bash
# The short part of the tests on kernel devices: `make test-hardware` runs all of tests/hardware.
exec bash tests/hardware/short.sh
