"""Where the source of a kernel comes from: a tree, a git repository, a tarball, or Debian's linux-source package."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rtassay.lab.packages import Packages
from rtassay.lab.places import Say, run
from rtassay.model.errors import BoardError, InputFileError, UsageError
from rtassay.model.files import open_regular, read_regular, require_regular

_URL = re.compile(r"(?:https?|git|ssh|file)://\S+|[\w.-]+@[\w.-]+:\S+")
_DEBIAN = re.compile(r"linux-source(-[0-9.]+)?")
_SLOW_S = 3600.0


@dataclass(frozen=True, slots=True)
class Source:
    """`kind`: tree, git, tarball or debian. `identity` changes whenever the content does. `epoch_s`: what its files are dated by."""

    kind: str
    name: str
    identity: str
    epoch_s: int
    patches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Patch:
    """One patch file of a queue; `content` is unpacked already."""

    name: str
    content: bytes


def patches_of(paths: Sequence[Path]) -> tuple[Patch, ...]:
    """The patches of files (.patch, .diff, also packed) and queues (a directory with `series`, or Debian's `*.debian.tar.xz`, whose
    patches-rt is meant). Raises InputFileError if one is none of these."""
    return tuple(patch for path in paths for patch in _patches(path))


@contextlib.contextmanager
def opened(word: str, ref: str | None, patches: Sequence[Patch], work: Path, say: Say) -> Iterator[tuple[Path, Source]]:
    """The tree of a source, ready to build in another directory. What is unpacked lies in `work` and is removed at the end.

    Raises UsageError for a word that names no source, InputFileError for a damaged one, BoardError when it cannot be fetched.
    """
    source = _identified(word, ref, work, say)
    digest = hashlib.sha256(source.identity.encode())
    for patch in patches:
        digest.update(patch.content)
    source = Source(
        source.kind, source.name, digest.hexdigest(), source.epoch_s, tuple(patch.name for patch in patches)
    )
    if source.kind == "tree" and not patches:
        _check_tree(Path(word))
        yield Path(word).resolve(), source
        return
    # The same place every time: the compiler's cache and debugging lines know a source by its path.
    place = work / f"source-{source.identity[:16]}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    try:
        say(f"unpacking {source.name}")
        _unpack(source, word, ref, place, work)
        for patch in patches:
            _apply(patch, place)
        _check_tree(place)
        yield place, source
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _identified(word: str, ref: str | None, work: Path, say: Say) -> Source:
    path = Path(word)
    if path.is_dir():
        if ref is not None or _is_bare(path):
            return _commit(path, word, ref or "HEAD")
        return _tree(path)
    if path.exists():
        _no_ref(word, ref)
        try:
            require_regular(path)
            with path.open("rb") as file:
                return Source("tarball", path.name, hashlib.file_digest(file, "sha256").hexdigest(), _dated(path))
        except OSError as error:
            raise InputFileError(f"cannot read the source {path}", error.strerror) from error
    if _URL.fullmatch(word):
        say(f"fetching {ref or 'HEAD'} of {word}")
        return _commit(_fetched(word, ref or "HEAD", work), f"{word} {ref or 'HEAD'}", "FETCH_HEAD")
    if _DEBIAN.fullmatch(word):
        _no_ref(word, ref)
        packed = _debian(word, say)
        # Debian's archive carries the date of its release in the files; the newest of its Makefile counts.
        return Source("debian", f"{word} ({packed.name})", f"{packed.parents[2].name}", _dated(packed))
    raise UsageError(
        f"'{word}' is no source of a kernel",
        "no such directory or file",
        "a tree, a tarball, a git URL (with --ref), or a package of Debian: linux-source-6.1",
    )


def _no_ref(word: str, ref: str | None) -> None:
    if ref is not None:
        raise UsageError(f"--ref {ref} needs a git repository", f"{word} is none")


def _git(*words: str, where: Path, what: str) -> str:
    return run(["git", "-C", str(where), *words], what=what, timeout_s=_SLOW_S)


def _is_bare(path: Path) -> bool:
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and not (path / "Makefile").exists()


def _commit(repository: Path, name: str, ref: str) -> Source:
    commit = _git("rev-parse", "--verify", f"{ref}^{{commit}}", where=repository, what=f"find commit {ref}").strip()
    tree = _git("rev-parse", f"{commit}^{{tree}}", where=repository, what="read the commit").strip()
    dated = _git("show", "-s", "--format=%ct", commit, where=repository, what="read the commit").strip()
    return Source("git", f"{name} {commit[:12]}", f"git {tree}", int(dated))


def _fetched(url: str, ref: str, work: Path) -> Path:
    """A bare repository of ours with the commit as FETCH_HEAD."""
    place = work / f"git-{hashlib.sha256(url.encode()).hexdigest()[:16]}"
    if not place.is_dir():
        run(["git", "init", "-q", "--bare", str(place)], what="make a repository")
    try:
        _git("fetch", "-q", "--depth", "1", "--", url, ref, where=place, what=f"fetch {ref} of {url}")
    except BoardError as error:
        raise BoardError(
            error.what, error.why, "a branch or a tag; a commit id only where the server allows it"
        ) from error
    return place


def _debian(package: str, say: Say) -> Path:
    architecture = run(["dpkg", "--print-architecture"], what="see this machine's architecture").strip()
    packages = Packages(architecture)
    home = packages.unpacked({package: ["usr/src/*.tar.xz"]}, say)[package]
    found = sorted((home / "usr/src").glob("linux-source-*.tar.xz"))
    if not found:
        raise BoardError(f"Debian's {package} holds no source", "it may be a metapackage", "name one: linux-source-6.1")
    return found[0]


def _tree(path: Path) -> Source:
    """A directory as it is. Of a git tree the commit, the changes and the new files count; else size and date of every file."""
    digest = hashlib.sha256()
    if (path / ".git").exists():
        commit = _commit(path, path.name, "HEAD")
        digest.update(commit.identity.encode())
        digest.update(_git("diff", "HEAD", "--binary", where=path, what="see the changes of the tree").encode())
        new = _git("ls-files", "-z", "--others", "--exclude-standard", where=path, what="see new files of the tree")
        for name in sorted(filter(None, new.split("\0"))):
            digest.update(name.encode() + (path / name).read_bytes())
        return Source("tree", commit.name, digest.hexdigest(), commit.epoch_s)
    newest = 0.0
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted(files):
            facts = os.lstat(f"{folder}/{name}")
            newest = max(newest, facts.st_mtime)
            digest.update(f"{folder}/{name} {facts.st_size} {facts.st_mtime_ns}\n".encode())
    return Source("tree", path.resolve().name, digest.hexdigest(), int(newest))


def _dated(path: Path) -> int:
    """The date of the top Makefile in an archive, in seconds. Raises InputFileError if it holds no kernel."""
    try:
        with tarfile.open(path) as archive:
            for number, member in enumerate(archive):
                if member.name.removeprefix("./").count("/") == 1 and member.name.endswith("/Makefile"):
                    return int(member.mtime)
                if number > 200_000:
                    break
    except (tarfile.TarError, EOFError, OSError) as error:
        raise InputFileError(f"{path} is no archive of a kernel", str(error), "a .tar, .tar.gz or .tar.xz") from error
    raise InputFileError(f"{path} is no archive of a kernel", "it has no Makefile in its one folder")


def _unpack(source: Source, word: str, ref: str | None, place: Path, work: Path) -> None:
    if source.kind == "tree":
        run(["cp", "-a", f"{word}/.", str(place)], what="copy the tree to patch it", timeout_s=_SLOW_S)
        return
    if source.kind == "git":
        repository = (
            Path(word) if Path(word).is_dir() else work / f"git-{hashlib.sha256(word.encode()).hexdigest()[:16]}"
        )
        commit = (ref or "HEAD") if Path(word).is_dir() else "FETCH_HEAD"
        archive = place.with_suffix(".tar")
        try:
            _git("archive", "--format=tar", "-o", str(archive), commit, where=repository, what="unpack the commit")
            run(["tar", "-xf", str(archive), "-C", str(place)], what="unpack the commit", timeout_s=_SLOW_S)
        finally:
            archive.unlink(missing_ok=True)
        return
    file = _debian(word, lambda words: None) if source.kind == "debian" else Path(word)
    argv = ["tar", "-xf", str(file), "-C", str(place), "--strip-components=1", "--no-same-owner"]
    run(argv, what=f"unpack {file.name}", timeout_s=_SLOW_S)


def _check_tree(tree: Path) -> None:
    if not all((tree / name).exists() for name in ("Makefile", "Kconfig", "Kbuild")):
        raise UsageError(f"{tree} is no source of Linux", "no Makefile, Kconfig and Kbuild there")
    if (tree / ".config").exists() or (tree / "include/config").exists():
        raise UsageError(
            f"{tree} holds a build of its own",
            "a kernel built in its source tree hinders builds elsewhere",
            f"keep its .config (it can be --config), then: make -C {tree} mrproper",
        )


def _patches(path: Path) -> Iterator[Patch]:
    if path.is_dir():
        if not (path / "series").is_file():
            raise InputFileError(f"{path} is no queue of patches", "it has no file `series`")
        try:
            yield from _series((path / "series").read_text(), lambda name: read_regular(path / name), str(path))
        except OSError as error:
            raise InputFileError(f"cannot read the queue {path}", str(error)) from error
    elif path.name.endswith(".debian.tar.xz"):
        with tarfile.open(path) as archive:
            yield from _series(
                _member(archive, "debian/patches-rt/series", path).decode(),
                lambda name: _member(archive, f"debian/patches-rt/{name}", path),
                str(path),
            )
    else:
        yield Patch(path.name, _content(path))


def _series(series: str, read: object, where: str) -> Iterator[Patch]:
    assert callable(read)
    for line in series.splitlines():
        name = line.split("#")[0].split(" ")[0].strip()
        if name.startswith(("/", "..")):
            raise InputFileError(f"the queue {where} names a file outside of it", name)
        if name:
            yield Patch(name, read(name))


def _member(archive: tarfile.TarFile, name: str, path: Path) -> bytes:
    try:
        file = archive.extractfile(name)
    except KeyError as error:
        raise InputFileError(f"{path} holds no {name}") from error
    if file is None:
        raise InputFileError(f"{path} holds no {name}")
    return file.read()


def _content(path: Path) -> bytes:
    import bz2
    import gzip
    import lzma

    unpack = {".gz": gzip.decompress, ".xz": lzma.decompress, ".bz2": bz2.decompress}.get(path.suffix, bytes)
    try:
        with open_regular(path) as file:
            return unpack(file.read())
    except (OSError, lzma.LZMAError, EOFError) as error:
        raise InputFileError(f"cannot read the patch {path}", str(error)) from error


def _apply(patch: Patch, tree: Path) -> None:
    file = tree.with_suffix(".patch")
    file.write_bytes(patch.content)
    try:
        argv = ["patch", "-p1", "--batch", "--forward", "--no-backup-if-mismatch", "-d", str(tree), "-i", str(file)]
        run(argv, what=f"apply {patch.name}")
    except BoardError as error:
        raise UsageError(
            error.what,
            error.why,
            "does the patch belong to this version of the kernel? see its name and `make kernelversion`",
        ) from error
    finally:
        file.unlink(missing_ok=True)
