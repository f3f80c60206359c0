#!/usr/bin/env bash
# The short part of the tests on kernel devices: `make test-hardware` runs all of tests/hardware.
# Without KVM its machine takes 30 s of processor, for LONG=1.
if [ -z "${LONG:-}" ] && ! [ -w /dev/kvm ]; then
	echo "skip hardware: no /dev/kvm, and an emulated machine takes 30 s; make test-hardware"
	exit 0
fi
exec bash tests/hardware/short.sh
