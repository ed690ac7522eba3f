"""Programs that drive a tracer of the kernel: what they need is looked at first, and what they set is put back, however they end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rtassay.model.errors import UsageError
from rtassay.model.manifest import Plan
from rtassay.model.units import NS_PER_S

# Settings of a tracer are the same for the whole kernel, and a killed rtla leaves its trace instance behind with the tracer running.
# Two rounds, because some settings limit each other (osnoise: runtime_us <= period_us).
_SCRIPT: Final = """
tracer=$1 instance=$2; shift 2
d=/sys/kernel/tracing mounted=
[ -e $d/available_tracers ] || { mount -t tracefs nodev $d 2>/dev/null && mounted=$d; }
end() { [ -z "$mounted" ] || umount $mounted; exit $1; }
if ! [ -r $d/available_tracers ]; then
  echo "tracefs cannot be read: tracers of the kernel need root, and a kernel with them; cyclictest and rtprobe measure on every kernel" >&2
  end 2
fi
if ! grep -qw $tracer $d/available_tracers; then
  echo "this kernel has no tracer $tracer: Debian's -rt kernels have it; cyclictest and rtprobe measure on every kernel" >&2
  end 2
fi
if [ -d $d/instances/$instance ]; then
  echo "tracefs has an instance $instance: another ${instance%_*} runs on this board, or one was killed (rmdir $d/instances/$instance)" >&2
  end 3
fi
files="$d/osnoise/* $d/hwlat_detector/* $d/tracing_thresh $d/tracing_cpumask $d/tracing_on"
settings() {
  for f in $files; do
    case $f in */options|*/mode) ;; *) [ -w $f ] && echo "$f $(cat $f)" ;; esac
  done 2>/dev/null
}
before=$(settings) current=$(cat $d/current_tracer)
trap : INT TERM HUP
"$@"
code=$?
[ ! -d $d/instances/$instance ] || rmdir $d/instances/$instance
[ "$(cat $d/current_tracer)" = "$current" ] || echo $current > $d/current_tracer
for round in 1 2; do
  [ "$before" = "$(settings)" ] || echo "$before" | while read -r f v; do echo "$v" > $f; done 2>/dev/null
done
end $code
"""


def script(tracer: str, instance: str, argv: Sequence[str]) -> list[str]:
    """`argv` under a shell that refuses with exit code 2 where the kernel lacks the tracer, and puts its settings back afterwards.

    `instance`: the trace instance that the program makes. Two of one name at a time are refused.
    """
    return ["sh", "-c", _SCRIPT, "sh", tracer, instance, *argv]


def refuse_what_rtla_lacks(tool: str, plan: Plan) -> None:
    """Raise UsageError for what no command of rtla can do."""
    if plan.settings:
        raise UsageError(f"{tool} has no settings for --set")
    if plan.sleep is not None or plan.clock is not None:
        raise UsageError(f"{tool} has no --sleep and no --clock", hint="leave them out, or use the probe rtprobe")
    if plan.trace_above_ns is not None or plan.break_above_ns is not None:
        raise UsageError(
            f"{tool} runs to its end here, without a trace",
            hint="--trace-above and --break-above need the probe rtprobe",
        )
    if plan.count is not None:
        raise UsageError(f"{tool} ends after a time, not after a number of samples", hint="give it a --duration")
    if plan.mlock is False:
        raise UsageError(
            f"{tool} measures with threads of the kernel, which are always in memory", hint="leave the option out"
        )
    if plan.duration_ns is not None and (plan.duration_ns % NS_PER_S or plan.duration_ns <= 0):
        raise UsageError(f"{tool} takes the duration in whole seconds")
    if plan.priority is not None and not 0 <= plan.priority <= 99:
        raise UsageError(f"priority {plan.priority} is not in 1..99")
