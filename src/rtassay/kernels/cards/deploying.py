"""A kernel onto a card: its files first, the boot loader's last, all read back; what was begun is undone when a step fails."""

from __future__ import annotations

import contextlib
import gzip
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rtassay.boot.install import pack
from rtassay.kernels import config, image
from rtassay.kernels.cards import card as cards
from rtassay.kernels.cards import initrd, menus
from rtassay.kernels.cards.card import Card
from rtassay.kernels.cards.files import Content, Files, Link, exists
from rtassay.kernels.cards.menus.base import Change, Menu, New
from rtassay.lab.places import Say
from rtassay.model.errors import BoardError, UsageError

_BLOCK = 4096
_SPARE = 4 << 20


@dataclass(frozen=True, slots=True)
class Deployed:
    """A kernel that lies on a card now. `first`: what the card booted before by default; `trial`: how the new one is booted once.

    `written`: paths by file system. `absent`: modules of the first initrd that this kernel does not have.
    """

    release: str
    loader: str
    first: str
    default: bool
    trial: str
    absent: tuple[str, ...]
    written: Mapping[str, tuple[str, ...]]


def deploy(
    source: Path, path: Path, *, default: bool = False, this_one: bool = False, say: Say = lambda words: None
) -> Deployed:
    """Put a kernel (a .deb or a directory) beside the first one of the card `path`, an image file or a device. Neither root nor the board is needed.

    `this_one`: a device that is not removable is meant. Raises UsageError for a card or a kernel that does not fit, InputFileError for
    one that cannot be read, BoardError when writing fails; then the card is as it was.
    """
    card = cards.opened(path, this_one)
    menu = menus.found_in(card.parts)
    with tempfile.TemporaryDirectory(prefix="rtassay-kernel-") as scratch:
        say(f"unpacking {source.name}")
        tree = Path(scratch) / "tree"
        release = _unpacked(source, tree)
        _check(card, menu, tree, release)
        made = _initrd(menu, tree, release)
        new = New(release, tree / f"boot/vmlinuz-{release}", made.content if made else None, _trees(tree, release))
        last = menu.add(new, default)
        system = _system(card, menu, last, tree, release)
        _room([*system, *last])
        say(f"writing kernel {release} to {path} ({_size([*system, *last]) / 1e6:.0f} MB)")
        with _undone(card, release, [*system, *last]):
            for files, batch in _batches(system):
                files.write(batch)
            say(f"writing the files of the boot loader ({menu.name})")
            for change in last:
                change.files.write({change.path: change.content})
    written: dict[str, list[str]] = {}
    for change in [*system, *last]:
        written.setdefault(change.files.where, []).append(change.path)
    return Deployed(
        release=release,
        loader=menu.name,
        first=menu.title,
        default=default,
        trial=menu.trial(new),
        absent=made.absent if made else (),
        written={where: tuple(paths) for where, paths in written.items()},
    )


def _unpacked(source: Path, tree: Path) -> str:
    """The files of a kernel that a board needs, with the lists of its modules; its release."""
    archive = tree.with_suffix(".tar.gz")
    release = pack(source, archive)
    with tarfile.open(archive) as opened:
        opened.extractall(tree, filter="data")
    (tree / f"lib/modules/{release}").mkdir(parents=True, exist_ok=True)
    initrd.depmod(tree, release)
    return release


def _check(card: Card, menu: Menu, tree: Path, release: str) -> None:
    """Raises UsageError for a kernel that cannot boot on this card, before anything is written."""
    modules = cards.modules_of(card.root)
    assert modules is not None
    if exists(card.root, f"{modules}/{release}"):
        raise UsageError(
            f"the card holds kernel {release} already",
            f"{modules}/{release}",
            "a kernel that was built anew has another name; on the board: rtassay kernel remove",
        )
    ours, theirs = (_arch(content) for content in ((tree / f"boot/vmlinuz-{release}").read_bytes(), menu.kernel))
    if ours is not None and theirs is not None and ours != theirs:
        raise UsageError(
            f"the kernel is for {ours}, and the card's is for {theirs}", hint="build it with another --arch"
        )
    options = _options(tree, release)
    if options is None:
        return
    if menu.initrd is not None and options.get("BLK_DEV_INITRD") != "y":
        raise UsageError(
            f"kernel {release} takes no initrd, and the card's first kernel boots with one",
            hint="build it with CONFIG_BLK_DEV_INITRD=y",
        )
    if menu.initrd is None and options.get("EXT4_FS") != "y":
        raise UsageError(
            f"kernel {release} cannot read the card's file system by itself",
            "the card's first kernel boots without an initrd, and this one has ext4 not built in",
            "build it with CONFIG_EXT4_FS=y, and the driver of the card's controller built in",
        )


def _arch(content: bytes) -> str | None:
    if content[:2] == b"\x1f\x8b":
        with contextlib.suppress(OSError, EOFError, zlib.error):
            content = gzip.decompress(content)
    return image.read(content).arch


def _options(tree: Path, release: str) -> Mapping[str, str] | None:
    path = tree / f"boot/config-{release}"
    return config.options(path.read_text(errors="replace")) if path.is_file() else None


def _initrd(menu: Menu, tree: Path, release: str) -> initrd.Made | None:
    if menu.initrd is None:
        return None
    options = _options(tree, release)
    packs = options is None or options.get("RD_GZIP") == "y"
    return initrd.remade(menu.initrd, tree / f"lib/modules/{release}", release, packs)


def _trees(tree: Path, release: str) -> dict[str, Path]:
    home = tree / f"usr/lib/linux-image-{release}"
    return {path.relative_to(home).as_posix(): path for path in sorted(home.rglob("*.dtb*"))}


def _system(card: Card, menu: Menu, last: Sequence[Change], tree: Path, release: str) -> list[Change]:
    """Modules, device trees and what else belongs to a kernel, without what the boot loader gets in the same place."""
    modules = cards.modules_of(card.root)
    assert modules is not None
    # A /boot that is a partition of its own hides the folder of the root file system.
    apart = menu.files.kind == "ext4" and menu.files is not card.root
    taken = {(id(change.files), change.path) for change in last}
    changes = []
    for path in sorted(tree.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        name = path.relative_to(tree).as_posix()
        content: Content = Link(str(path.readlink())) if path.is_symlink() else path
        if name.startswith("boot/") and apart:
            change = Change(menu.files, f"/{name.removeprefix('boot/')}", content)
        elif name.startswith("lib/modules/"):
            change = Change(card.root, f"{modules}/{name.removeprefix('lib/modules/')}", content)
        else:
            change = Change(card.root, f"/{name}", content)
        if (id(change.files), change.path) not in taken:
            changes.append(change)
    return changes


def _batches(changes: Sequence[Change]) -> Iterator[tuple[Files, dict[str, Content]]]:
    batches: dict[int, tuple[Files, dict[str, Content]]] = {}
    for change in changes:
        batches.setdefault(id(change.files), (change.files, {}))[1][change.path] = change.content
    yield from batches.values()


def _bytes(content: Content) -> int:
    size = 0 if isinstance(content, Link) else content.stat().st_size if isinstance(content, Path) else len(content)
    return size + -size % _BLOCK


def _size(changes: Sequence[Change]) -> int:
    return sum(_bytes(change.content) for change in changes)


def _room(changes: Sequence[Change]) -> None:
    for files, batch in _batches(changes):
        needed, free = sum(map(_bytes, batch.values())) + _SPARE, files.free_bytes()
        if needed > free:
            raise BoardError(
                f"there is no room for the kernel on {files.where}",
                f"{free / 1e6:.0f} MB are free, it needs {needed / 1e6:.0f} MB",
                "remove a kernel that is not needed, make the partition larger, or build with INSTALL_MOD_STRIP (rtassay does)",
            )


@contextlib.contextmanager
def _undone(card: Card, release: str, changes: Sequence[Change]) -> Iterator[None]:
    """When the block fails: files that were there are as they were, new ones and their new folders are gone."""
    small = [change for change in changes if not isinstance(change.content, Path | Link)]
    before = [(change, change.files.read(change.path)) for change in small]
    new_folders = _new_folders(changes)
    try:
        yield
    except BaseException as failure:
        try:
            for change, content in before:
                if content is not None:
                    change.files.write({change.path: content})
            gone: dict[int, tuple[Files, list[str]]] = {}
            kept = {(id(change.files), change.path) for change, content in before if content is not None}
            for change in changes:
                if (id(change.files), change.path) not in kept:
                    gone.setdefault(id(change.files), (change.files, []))[1].append(change.path)
            for files, paths in gone.values():
                folders = new_folders.get(id(files), [])
                files.remove([*folders, *(path for path in paths if not _below(path, folders))])
        except BoardError as error:
            raise BoardError(
                f"kernel {release} is half on {card.path}, and could not be removed again",
                f"{failure}; then: {error}",
                "its first kernel is still the default; write the image anew, or look at the card with e2fsck",
            ) from failure
        raise


def _new_folders(changes: Sequence[Change]) -> dict[int, list[str]]:
    """By file system the topmost folders that are not there yet."""
    found: dict[int, list[str]] = {}
    known: dict[tuple[int, str], bool] = {}
    for change in changes:
        mine = found.setdefault(id(change.files), [])
        for folder in reversed(PurePosixPath(change.path).parents):
            name = str(folder)
            if name == "/":
                continue
            key = (id(change.files), name)
            if key not in known:
                known[key] = exists(change.files, name)
            if not known[key]:
                if name not in mine:
                    mine.append(name)
                break
    return found


def _below(path: str, folders: Sequence[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)
