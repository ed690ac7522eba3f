"""Small shell scripts for a board, without bash and with no program that BusyBox lacks."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

# Finds root's programs too, since a login without a terminal may lack their directories on its PATH.
WHICH = """p=$1; case $p in */*) [ -x "$p" ] && echo "$p"; exit;; esac
a=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; IFS=:; for d in $a; do
if [ -f "$d/$p" ] && [ -x "$d/$p" ]; then echo "$d/$p"; exit; fi; done"""
# SIGTERM to a spooler ends its guard in order. The probe's spooler comes first and has 5 s, so that the probe ends under load. Then all have
# 10 s. SIGTERM to a guard that is ending ($c) makes it kill at once, within 5 s. A spooler that still hangs is killed.
_END_SPOOLS = """tell() {{ read -r p x <$1/pid && [ ! -f $1/exit ] && kill -TERM $p; }}
wait_for() {{ i=0; while [ $i -lt $1 ]; do left=; for s in $2; do [ -d $s ] && [ ! -f $s/exit ] && left="$left $s"; done
[ -n "$left" ] || break; if sleep 0.1; then i=$((i + 1)); else sleep 1; i=$((i + 10)); fi; done; }}
first=; for s in {spools}; do [ -f $s/leads ] && tell $s && first="$first $s"; done; wait_for 50 "$first"
for s in {spools}; do tell $s; done; wait_for 100 "{spools}"
for s in $left; do read -r p x c x <$s/pid && kill -TERM $c; done; wait_for 50 "$left"
for s in $left; do read -r p x <$s/pid && kill -9 $p; done; true"""
_END_FETCHERS = "for s in {spools}; do [ -f $s/fetcher ] && read -r p x <$s/fetcher && kill -9 $p; done; true"


# How long a board under load may take to run that script.
END_SPOOLS_S = 60.0


def end_spools(spools: Sequence[str]) -> str:
    """Ends the commands launched in these directories, within some 20 seconds."""
    return _END_SPOOLS.format(spools=_words(spools))


def end_fetchers(spools: Sequence[str]) -> str:
    """Ends the processes that send from these directories."""
    return _END_FETCHERS.format(spools=_words(spools))


def journal(directory: str, line: str, stamp: str = "") -> str:
    """Notes a change to the board in its journal, which stays as long as the change. `stamp`: words the shell expands."""
    return f'echo "$(date -u +%FT%TZ){stamp}" {shlex.quote(line)} >>{shlex.quote(f"{directory}/journal")}'


def _words(paths: Sequence[str]) -> str:
    return " ".join(shlex.quote(path) for path in paths)
