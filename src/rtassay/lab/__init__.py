"""Virtual boards with real Debian kernels, to try rtassay without hardware. They show what works; their times say nothing about hardware.

`quick.build` and `disk.build` make images and cache them by content. `machine.start` boots one in QEMU, without KVM, and waits until it
answers an SSH command. A started board is an ordinary board of the transport `qemu`, named `lab:NAME`.
"""
