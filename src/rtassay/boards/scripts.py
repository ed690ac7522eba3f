"""Small shell scripts for a board, without bash and with no program that BusyBox lacks."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

# Where programs of root live that a login without a terminal may not have on its PATH.
WHICH = """p=$1; case $p in */*) [ -x "$p" ] && echo "$p"; exit;; esac
a=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; IFS=:; for d in $a; do
if [ -f "$d/$p" ] && [ -x "$d/$p" ]; then echo "$d/$p"; exit; fi; done"""
# Spoolers that still run are told to let go: first, and for up to 5 s, the one whose end is to end others, for what a probe measures after
# its load has gone would be measured without. Then all have 8 s; what is left then loses its owner at once.
_END_SPOOLS = """tell() {{ read -r p x <$1/pid && [ ! -f $1/exit ] && kill -TERM $p; }}
wait_for() {{ i=0; while [ $i -lt $1 ]; do left=; for s in $2; do [ -d $s ] && [ ! -f $s/exit ] && left="$left $s"; done
[ -n "$left" ] || break; if sleep 0.1; then i=$((i + 1)); else sleep 1; i=$((i + 10)); fi; done; }}
first=; for s in {spools}; do [ -f $s/leads ] && tell $s && first="$first $s"; done; wait_for 50 "$first"
for s in {spools}; do tell $s; done; wait_for 80 "{spools}"
for s in $left; do read -r p x c x <$s/pid && kill -9 $p; done; true"""
_END_FETCHERS = "for s in {spools}; do [ -f $s/fetcher ] && read -r p <$s/fetcher && kill -9 $p; done; true"


def end_spools(spools: Sequence[str]) -> str:
    """Ends what is launched in these directories, within some 15 seconds."""
    return _END_SPOOLS.format(spools=_words(spools))


def end_fetchers(spools: Sequence[str]) -> str:
    """Ends those that send from these directories."""
    return _END_FETCHERS.format(spools=_words(spools))


def journal(directory: str, line: str, stamp: str = "") -> str:
    """Notes what was done to the board, kept there as long as anything of it is. `stamp`: words the shell expands."""
    return f'echo "$(date -u +%FT%TZ){stamp}" {shlex.quote(line)} >>{shlex.quote(f"{directory}/journal")}'


def _words(paths: Sequence[str]) -> str:
    return " ".join(shlex.quote(path) for path in paths)
