# ruff: noqa: W291
"""Output of the load tools as they print it, by tool and version; and a meter fed with it."""

from __future__ import annotations

from rtassay.loads.base import LoadResult, Meter, Rate
from rtassay.model.events import Output

S = 10**9


def fed(meter: Meter, err: str = "", out: str = "", at_ns: int = 0) -> tuple[LoadResult, list[Rate]]:
    """A line a second on stderr, and all of stdout at the end."""
    rates = []
    for i, line in enumerate(err.splitlines(keepends=True)):
        rates += meter.take(Output(at_ns + i * S, 2, line.encode()))
    rates += meter.take(Output(at_ns, 1, out.encode("latin-1")))
    return meter.result(), rates


# stress-ng 0.15.06 (Debian 12): stress-ng --cpu 1 --vm 2 --null 1 --apparmor 1 --metrics --yaml /dev/stdout
STRESS_NG_0_15 = """\
stress-ng: info:  [27009] apparmor stressor will be skipped, AppArmor is not enabled
stress-ng: info:  [12830] ioport cannot access port 0x80, not skipping stressor
stress-ng: info:  [12830] plugin: no plugin-so specified, skipping stressor
stress-ng: info:  [27009] setting to a 1 second run per stressor
stress-ng: info:  [27009] dispatching hogs: 1 cpu, 2 vm, 1 null
stress-ng: metrc: [27009] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s CPU used per       RSS Max
stress-ng: metrc: [27009]                           (secs)    (secs)    (secs)   (real time) (usr+sys time) instance (%)          (KB)
stress-ng: metrc: [27009] cpu                 169      1.00      0.15      0.00       168.75        1126.30        14.98          6472
stress-ng: metrc: [27009] vm                    0      6.01      0.00      0.00         0.00           0.00         0.03          2668
stress-ng: metrc: [27009] null              65916      1.99      0.14      0.43     33049.00      115701.78        28.56          2504
stress-ng: metrc: [27009] miscellaneous metrics:
stress-ng: metrc: [27009] null                1834.51 MB per sec /dev/null write rate (geometic mean of 1 instances)
stress-ng: info:  [27009] successful run completed in 1.72s
"""
STRESS_NG_YAML = """\
---
system-info:
      stress-ng-version: 0.15.06
      version: '#1 SMP PREEMPT_DYNAMIC @0'

metrics:
    - stressor: cpu
      bogo-ops: 169
      bogo-ops-per-second-usr-sys-time: 1126.298742
      bogo-ops-per-second-real-time: 168.749349
      wall-clock-time: 1.001485
      user-time: 0.150049

    - stressor: vm
      bogo-ops: 0
      bogo-ops-per-second-usr-sys-time: 0.000000
      wall-clock-time: 6.013490

    - stressor: null
      bogo-ops: 65916
      wall-clock-time: 1.994493
      mb-per-sec-devnull-write-rate: 1834.514610

...
"""
# Later versions end with a summary (this one as their source prints it).
STRESS_NG_SUMMARY = """\
stress-ng: info:  [77] skipped: 2: apparmor (1) smi (1)
stress-ng: info:  [77] passed: 2: cpu (1) vm (2)
stress-ng: info:  [77] failed: 0
stress-ng: info:  [77] metrics untrustworthy: 0
"""

# iperf3 3.12: -c HOST -t 2 -i 1 -f k -P 2 -R, both ends.
IPERF3_REVERSE_CLIENT = """\
Connecting to host 127.0.0.1, port 29777
Reverse mode, remote host 127.0.0.1 is sending
[  5] local 127.0.0.1 port 46330 connected to 127.0.0.1 port 29777
[  7] local 127.0.0.1 port 46344 connected to 127.0.0.1 port 29777
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-1.00   sec   431 MBytes  3606429 Kbits/sec                  
[  7]   0.00-1.00   sec   459 MBytes  3835317 Kbits/sec                  
[SUM]   0.00-1.00   sec   890 MBytes  7441788 Kbits/sec                  
- - - - - - - - - - - - - - - - - - - - - - - - -
[  5]   1.00-2.00   sec   850 MBytes  7151588 Kbits/sec                  
[  7]   1.00-2.00   sec   882 MBytes  7415491 Kbits/sec                  
[SUM]   1.00-2.00   sec  1.69 GBytes  14567057 Kbits/sec                  
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-2.00   sec  1.26 GBytes  5390199 Kbits/sec   10             sender
[  5]   0.00-2.00   sec  1.25 GBytes  5373956 Kbits/sec                  receiver
[SUM]   0.00-2.00   sec  2.57 GBytes  11026598 Kbits/sec   11             sender

iperf Done.
"""
IPERF3_SENDING_SERVER = """\
-----------------------------------------------------------
Server listening on 29777 (test #1)
-----------------------------------------------------------
Accepted connection from 127.0.0.1, port 46328
[  5] local 127.0.0.1 port 29777 connected to 127.0.0.1 port 46330
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.01   sec   436 MBytes  3629500 Kbits/sec    1    895 KBytes       
[  5]   1.01-2.00   sec   850 MBytes  7177119 Kbits/sec    9   3.37 MBytes       
- - - - - - - - - - - - - - - - - - - - - - - - -
[  5]   0.00-2.00   sec  1.26 GBytes  5390199 Kbits/sec   10             sender
"""
# -u -b 50M, both ends.
IPERF3_UDP_CLIENT = """\
[  5] local 127.0.0.1 port 32859 connected to 127.0.0.1 port 29777
[ ID] Interval           Transfer     Bitrate         Total Datagrams
[  5]   0.00-1.00   sec  5.97 MBytes  50066 Kbits/sec  191  
[  5]   1.00-2.00   sec  5.94 MBytes  49789 Kbits/sec  190  
- - - - - - - - - - - - - - - - - - - - - - - - -
[  5]   0.00-2.00   sec  11.9 MBytes  49928 Kbits/sec  0.000 ms  0/381 (0%)  sender
"""
IPERF3_UDP_SERVER = """\
[  5] local 127.0.0.1 port 29777 connected to 127.0.0.1 port 32859
[  5]   0.00-1.00   sec  5.97 MBytes  50065 Kbits/sec  0.015 ms  0/191 (0%)  
[  5]   1.00-2.01   sec  5.94 MBytes  49108 Kbits/sec  0.039 ms  0/190 (0%)  
[  5]   0.00-2.01   sec  11.9 MBytes  49583 Kbits/sec  0.039 ms  0/381 (0%)  receiver
"""
# --bidir, ended by SIGTERM.
IPERF3_BOTH_CUT = """\
[  5] local 127.0.0.1 port 58256 connected to 127.0.0.1 port 29321
[  7] local 127.0.0.1 port 58270 connected to 127.0.0.1 port 29321
[ ID][Role] Interval           Transfer     Bitrate         Retr  Cwnd
[  5][TX-C]   0.00-1.00   sec   599 MBytes  5022237 Kbits/sec   12    895 KBytes       
[  7][RX-C]   0.00-1.00   sec   601 MBytes  5043156 Kbits/sec                  
[  5][TX-C]   1.00-1.29   sec   189 MBytes  5420463 Kbits/sec    5    895 KBytes       
[  7][RX-C]   1.00-1.29   sec   197 MBytes  5650456 Kbits/sec                  
- - - - - - - - - - - - - - - - - - - - - - - - -
[  5][TX-C]   0.00-1.29   sec  1.99 GBytes  5193638 Kbits/sec   63             sender
[  5][TX-C]   0.00-1.29   sec  0.00 Bytes  0.00 Kbits/sec                  receiver
iperf3: interrupt - the client has terminated
"""
# iperf 2.1.8: -c HOST -i 1 -f k
IPERF_CLIENT = """\
------------------------------------------------------------
Client connecting to 127.0.0.1, TCP port 29322
TCP window size: 16.0 KByte (default)
------------------------------------------------------------
[  1] local 127.0.0.1 port 44016 connected with 127.0.0.1 port 29322 (icwnd/mss/irtt=319/32741/42)
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-1.0000 sec  1961472 KBytes  16068379 Kbits/sec
[  1] 1.0000-2.0000 sec  1429888 KBytes  11713642 Kbits/sec
[  1] 2.0000-2.3109 sec  565120 KBytes  14891814 Kbits/sec
[  1] 0.0000-2.3109 sec  3956480 KBytes  15533835 Kbits/sec
"""
# hackbench of rt-tests 2.4: -g 2 -l 100, two rounds and one that SIGTERM cut.
HACKBENCH = """\
Running in process mode with 2 groups using 40 file descriptors each (== 80 tasks)
Each sender will pass 100 messages of 100 bytes
Time: 0.250
Running in process mode with 2 groups using 40 file descriptors each (== 80 tasks)
Each sender will pass 100 messages of 100 bytes
Time: 0.500
Running in process mode with 2 groups using 40 file descriptors each (== 80 tasks)
Each sender will pass 100 messages of 100 bytes
Signal 15 caught, longjmp'ing out!
longjmp'ed out, reaping children
sending SIGTERM to all child processes
signaling 80 worker threads to terminate
Time: 0.095
"""
STRESS_KILLED = """\
stress: info: [12877] dispatching hogs: 1 cpu, 0 io, 1 vm, 0 hdd
stress: FAIL: [12877] (425) <-- worker 12883 got signal 9
stress: WARN: [12877] (427) now reaping child worker processes
stress: FAIL: [12877] (431) kill error: No such process
"""
