"""Virtual boards with real Debian kernels, to try rtassay without hardware. They show function only: their times are not those of hardware.

`quick.build` and `disk.build` make images (kept by content), `machine.start` boots one in QEMU, without KVM, and waits until an
SSH command was answered. A started board is an ordinary board of the transport `qemu`, named `lab:NAME`.
"""
