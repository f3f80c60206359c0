# Sourced after try.sh by lists that run the suite of pyverbs: valid reasons for skipped tests.
#
#	skips_are_true NAME	each skip in $tmp/NAME, of the run of that name, has such a reason
#
# They need a vendor's device, or a feature that this machine, this link or this device lacks. Tests
# of DMA buffers need a graphics card, those of huge pages a reserve made by the administrator
# (/proc/sys/vm/nr_hugepages), those of CUDA a GPU. A drop-in has no /sys (see docs/SOFT-DEVICE.md),
# where librdmacm's tests look for a net interface. The device has no clock in /dev (PHC), its
# memory is not a DMA buffer, and it is not in a confidential guest (CC_DMA_BOUNCE).
skips_known="Can not run the test over non (EFA|MLX5) device
Could not open mlx5 context \\(This is not an MLX5 device\\)
Converting timestamp to nanoseconds is not supported
PCI device must be passed by the user
FDs file not found
cuda-python 12\\.0\\+ must be installed to run CUDA tests
(Allocating dmabuf is not supported by|Device) /dev/dri/[a-zA-Z0-9]+( is not present)?
(There are no huge|Huge) pages of size 2M (allocated|is not supported in this platform)
Link layer of port=1 is InfiniBand , skip RoCE test
No supported port is up, can't run traffic
(Must be run|To Create RAW QP must be done) by root on Ethernet link layer
Device verbatim0 doesn't have net interface
No PHC or failed to open
DM dmabuf export is not supported
Device does not report CC_DMA_BOUNCE"

skips_are_true() { # name
	local found=$(sed -n "s/^skip $1: //p" "$tmp/$1" |
		grep -vE ": ($(paste -sd'|' <<<"$skips_known"))\$")
	is skips "$found" ""
}
