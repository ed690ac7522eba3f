"""Where rtassay may live on a board: one directory of its own, in a place that can be written to and run from."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from rtassay.model import foreign
from rtassay.model.errors import BoardError

# For root, memory first, so that nothing is written to the card that boots the board. For others, first the places that survive their
# last session: at its end systemd-logind removes /run/user/UID and, with RemoveIPC, their files in /dev/shm.
_ROOT_PLACES = ("/run", "/dev/shm", "/tmp", "/var/tmp", "/var/volatile", "$HOME", "/mnt", "/data")
_USER_PLACES = ("/tmp", "/var/tmp", "$HOME", "/dev/shm", "$XDG_RUNTIME_DIR", "/run/user/$(id -u)", "/data")
DIRECTORY = "rtassay"
_CAPS = re.compile(r"[0-9a-f]{1,16}")
# Room for a probe and the first segments of a measurement.
_LEAST_KIB = 4096


@dataclass(frozen=True, slots=True)
class Contact:
    """Facts about a board and the user who logged in, before anything is copied there."""

    uid: int
    machine: str
    system: str
    sudo: str  # "none", "works", "asks"
    real_time: bool  # may set a real-time policy as it is
    memory_bytes: int | None  # available
    boot_id: str
    installed: tuple[str, str] | None = None  # an rtprobe on its PATH: path and SHA-256


# Prints key=value lines. `ulimit -Hr` and CapEff bit 23 (CAP_SYS_NICE) tell who may be real-time without being root.
CONTACT_SCRIPT = """
echo uid=$(id -u); echo machine=$(uname -m); echo system=$(uname -s)
echo memory_kib=$(sed -n 's/^MemAvailable:[[:space:]]*\\([0-9]*\\).*/\\1/p' /proc/meminfo)
echo boot_id=$(cat /proc/sys/kernel/random/boot_id)
echo rtprio=$(ulimit -Hr || ulimit -r); echo caps=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)
if command -v sudo >/dev/null; then if sudo -n true; then echo sudo=works; else echo sudo=asks; fi; else echo sudo=none; fi
if p=$(command -v rtprobe) && [ -x "$p" ]; then echo installed=$(sha256sum <"$p") "$p"; fi
"""


def contact_of(answer: bytes, where: str) -> Contact:
    """Raises BoardError for a board that does not run Linux or lacks basic programs."""
    fields = _fields(answer)
    uid, machine, memory_kib = foreign.number(fields.get("uid")), fields.get("machine", ""), fields.get("memory_kib")
    if fields.get("system") != "Linux" or uid is None:
        raise BoardError(
            f"{where} is no board that rtassay knows",
            f"it says it runs {fields.get('system') or 'nothing known'}",
            "a board needs Linux with a shell, cat and id (BusyBox will do)",
        )
    if not foreign.is_name(machine):
        raise BoardError(
            f"{where} does not tell its architecture",
            f"uname -m says {foreign.one_line(machine, 60)!r}",
            "look at its uname",
        )
    caps = fields.get("caps", "")
    nice = bool(_CAPS.fullmatch(caps)) and bool(int(caps, 16) >> 23 & 1)
    available_kib = foreign.number(memory_kib)
    return Contact(
        uid=uid,
        machine=machine,
        system=fields["system"],
        sudo=fields.get("sudo", "none"),
        real_time=nice or fields.get("rtprio", "0") not in ("", "0"),
        boot_id=fields.get("boot_id", ""),
        memory_bytes=None if available_kib is None else available_kib * 1024,
        installed=_installed(fields.get("installed", "")),
    )


def place_script(uid: int, asked: str | None) -> str:
    """Prints `place=DIR` for the first place that fits, and `tried=DIR reason` for each that does not. Places used before come first.

    The script continues in that directory, or ends if none fits.
    """
    places = (asked,) if asked else (_ROOT_PLACES if uid == 0 else _USER_PLACES)
    quoted = " ".join(shlex.quote(asked) if asked else f'"{place}"' for place in places)
    return f"""
umask 077; found=
for old in 1 0; do for p in {quoted}; do
  [ -n "$p" ] && [ -d "$p" ] || continue
  d=$p/{DIRECTORY}-{uid}
  [ -d "$d" ] || [ $old = 0 ] || continue
  mkdir "$d" 2>/dev/null
  if [ ! -d "$d" ] || [ -L "$d" ] || [ ! -O "$d" ] || [ ! -w "$d" ]; then echo "tried=$p cannot be written"; continue; fi
  t=$d/.try$$
  printf '#!/bin/sh\\nexit 0\\n' >$t && chmod 700 $t
  if [ ! -s $t ]; then echo "tried=$p has no space left"; rm -f $t; rmdir $d; continue; fi
  if ! $t; then echo "tried=$p is mounted noexec"; rm -f $t; rmdir $d; continue; fi
  rm -f $t
  f=$(df -Pk "$p" | {{ read x; read x x x f x; echo $f; }})
  if [ -n "$f" ] && [ "$f" -lt {_LEAST_KIB} ]; then echo "tried=$p has no space left ($f KiB)"; rmdir $d; continue; fi
  chmod 711 "$d"
  echo "place=$d"; echo "free_kib=$f"; found=$d; break 2
done; done
[ -n "$found" ] && cd "$found" || exit
"""


def all_places_script(uid: int, asked: str | None) -> str:
    """Prints every directory of rtassay on the board, one a line, usable or not."""
    places = (
        *((shlex.quote(asked),) if asked else ()),
        *(f'"{p}"' for p in dict.fromkeys((*_ROOT_PLACES, *_USER_PLACES))),
    )
    return f'for p in {" ".join(places)}; do d=$p/{DIRECTORY}-{uid}; [ -n "$p" ] && [ -d "$d" ] && [ ! -L "$d" ] && [ -O "$d" ] && echo "$d"; done | sort -u'


def empty_places_script(uid: int, asked: str | None) -> str:
    """Removes the directories of rtassay that are empty."""
    return f'{all_places_script(uid, asked)} | while read -r d; do rmdir "$d"; done'


def place_of(answer: bytes, where: str) -> tuple[str, int | None]:
    """The directory, and the KiB that are free there (None where `df` does not tell). Raises BoardError when nothing fits."""
    fields = _fields(answer)
    if "place" in fields:
        if not foreign.is_path(fields["place"]):
            raise BoardError(f"{where} names no directory", f"it says {foreign.one_line(fields['place'], 60)!r}")
        return fields["place"], foreign.number(fields.get("free_kib"))
    tried = [
        line.partition("=")[2] for line in answer.decode(errors="replace").splitlines() if line.startswith("tried=")
    ]
    raise BoardError(
        f"there is no place for rtassay on {where}",
        "; ".join(tried) or "no existing directory can be written",
        "name one that can be written and run from: rtassay board add NAME ... --directory DIR; "
        "or mount one: mount -t tmpfs -o size=64m rtassay /mnt",
    )


def _fields(answer: bytes) -> Mapping[str, str]:
    pairs = (line.partition("=") for line in answer.decode(errors="replace").splitlines())
    return {key.strip(): value.strip() for key, found, value in pairs if found}


def _installed(told: str) -> tuple[str, str] | None:
    words = told.split(" ", 2)  # sum, "-", path
    return (words[2], words[0]) if len(words) == 3 and len(words[0]) == 64 and foreign.is_path(words[2]) else None
