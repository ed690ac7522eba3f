/* A static tracepoint in user space, as perf, bpftrace and SystemTap read it: a nop, and a note in the file that says where it stands and
 * which registers hold its values (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation). The gate finds an activation by it. */
#ifndef RTPROBE_USDT_H
#define RTPROBE_USDT_H

#ifdef __x86_64__
#define USDT_TWO(name, first, second)                                                                                                      \
	__asm__ volatile("990: nop\n"                                                                                                      \
			 ".pushsection .note.stapsdt, \"\", \"note\"\n"                                                                    \
			 ".balign 4\n"                                                                                                     \
			 ".4byte 992f - 991f, 994f - 993f, 3\n"                                                                            \
			 "991: .asciz \"stapsdt\"\n"                                                                                       \
			 "992: .balign 4\n"                                                                                                \
			 "993: .8byte 990b, 0, 0\n"                                                                                        \
			 ".asciz \"rtprobe\"\n"                                                                                            \
			 ".asciz \"" name "\"\n"                                                                                           \
			 ".asciz \"-8@%0 -8@%1\"\n"                                                                                        \
			 "994: .balign 4\n"                                                                                                \
			 ".popsection"                                                                                                     \
			 :                                                                                                                 \
			 : "r"((int64_t)(first)), "r"((int64_t)(second)))
#else
#define USDT_TWO(name, first, second) ((void)(first), (void)(second))
#endif

#endif
