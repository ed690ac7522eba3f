"""Builds kernels: the same source, configuration and compiler give the same files, and are built once."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from rtassay.kernels import builds, compiling, config, container, sources
from rtassay.kernels.arches import target_named
from rtassay.kernels.builds import BuiltFile, Manifest, Named
from rtassay.kernels.compiling import Workshop
from rtassay.kernels.config import Difference, Fragment
from rtassay.kernels.package import package
from rtassay.lab.places import Say
from rtassay.model import foreign
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.files import replace_file

_LONGEST_RELEASE = 64  # of the kernel's own uname


@dataclass(frozen=True, slots=True)
class Request:
    """What to build. `source`: a tree, a tarball, a git URL or a package as linux-source-6.12; `ref` of a git repository.

    `kinds`: False for stock, True for PREEMPT_RT; all come from one source and one base. `base`: a file, or a target of the kernel's
    Makefile. `made_by`: auto, tuxmake or make. `jobs`: None for one per CPU. `container`: compile in a Debian root of its own.
    """

    source: str
    arch: str | None = None
    kinds: tuple[bool, ...] = (False,)
    base: str = "defconfig"
    fragments: tuple[str, ...] = ()
    ref: str | None = None
    patches: tuple[Path, ...] = ()
    made_by: str = "auto"
    jobs: int | None = None
    ccache: bool = True
    container: bool = False


@dataclass(frozen=True, slots=True)
class Built:
    """A kernel on this machine. `cached`: it was there already."""

    path: Path
    manifest: Manifest
    cached: bool


@dataclass(frozen=True, slots=True)
class _Job:
    """One kernel of a request, ready to compile."""

    request: Request
    shop: Workshop
    tree: Path
    source: sources.Source
    fragments: tuple[Fragment, ...]
    rt: bool
    configuration: str
    difference: tuple[Difference, ...]
    compiler: str
    release: str


def build(request: Request, say: Say = lambda words: None) -> list[Built]:
    """Every kernel of a request, in its order.

    Raises UsageError for a wrong request or a source without PREEMPT_RT, BoardError for missing tools and a kernel that does not build.
    """
    target = target_named(request.arch)
    fragments = tuple(config.fragment_named(word, target.name) for word in request.fragments)
    patches = sources.patches_of(request.patches)
    if not request.container:
        shop = compiling.workshop(target, request.made_by, request.jobs, request.ccache)
    with _alone(say) as work, sources.opened(request.source, request.ref, patches, work, say) as (tree, source):
        if request.container:
            room = container.opened(target, work, say)
            shop = compiling.workshop_inside(target, room, request.made_by, request.jobs, request.ccache)
            builds.home().mkdir(parents=True, exist_ok=True)
            shop = replace(shop, places=tuple(path.resolve() for path in (tree, work, builds.home())))
        shop = replace(shop, environment=_reproducible(source.epoch_s))
        jobs = _jobs(request, shop, tree, source, fragments, work)
        return [_one(job, work, say) for job in jobs]


def build_commit(
    tree: Path,
    commit: str,
    *,
    arch: str = "amd64",
    base: str = "tinyconfig",
    fragments: Sequence[str] = ("lab",),
    rt: bool = False,
    made_by: str = "auto",
    say: Say = lambda words: None,
) -> Path:
    """The directory of a kernel built from a commit of a git tree. Raises what `build` raises."""
    request = Request(str(tree), arch, (rt,), base, tuple(fragments), ref=commit, made_by=made_by)
    return build(request, say)[0].path


@contextlib.contextmanager
def _alone(say: Say) -> Iterator[Path]:
    """The directory to work in, locked: two builds would only make each other slow, and unpack to the same places."""
    import platformdirs

    work = Path(platformdirs.user_cache_dir("rtassay")) / "kernels"
    work.mkdir(parents=True, exist_ok=True)
    with (work / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another kernel is being built; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield work
        except OSError as error:
            if error.filename is not None:
                raise
            # A write that failed does not know its file.
            raise BoardError(
                f"cannot write in {work} or {builds.home()}",
                error.strerror or str(error),
                "look at the space that is left there",
            ) from error


def _reproducible(epoch_s: int) -> dict[str, str]:
    date = time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(epoch_s))
    return {
        "KBUILD_BUILD_TIMESTAMP": date,
        "KBUILD_BUILD_USER": "rtassay",
        "KBUILD_BUILD_HOST": "rtassay",
        "KBUILD_BUILD_VERSION": "1",
        "SOURCE_DATE_EPOCH": str(epoch_s),
        "LOCALVERSION": "",
    }


def _jobs(
    request: Request, shop: Workshop, tree: Path, source: sources.Source, fragments: tuple[Fragment, ...], work: Path
) -> list[_Job]:
    scratch = work / f"config-{source.identity[:16]}"
    try:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        base = _base(request, shop, tree, scratch)
        # The stock kernel is made too where only PREEMPT_RT is asked for: the difference is part of the answer.
        made = {
            rt: _configured(shop, tree, scratch, config.joined(base, fragments, rt)) for rt in {False, *request.kinds}
        }
        compiler = compiling.compiler_of(shop)
        version = compiling.make(shop, tree, scratch, "kernelversion", what="read the kernel's version").strip()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return [
        _job(request, shop, tree, source, fragments, rt, made, compiler, version) for rt in dict.fromkeys(request.kinds)
    ]


def _job(
    request: Request,
    shop: Workshop,
    tree: Path,
    source: sources.Source,
    fragments: tuple[Fragment, ...],
    rt: bool,
    made: dict[bool, str],
    compiler: str,
    version: str,
) -> _Job:
    text = made[rt]
    if (config.options(text).get("PREEMPT_RT") == "y") != rt:
        raise UsageError(
            f"Linux {version} has no PREEMPT_RT for {shop.target.name} with this configuration",
            "kconfig did not keep CONFIG_PREEMPT_RT=y",
            "before 6.12 give the -rt patch or queue with --patch; see also that no option excludes it (KVM on arm does)",
        )
    key = hashlib.sha256("\0".join((source.identity, text, shop.target.name, compiler)).encode()).hexdigest()
    suffix = f"-{'rt' if rt else 'stock'}-{key[:8]}"
    named = config.options(text).get("LOCALVERSION", '""').strip('"')
    release = f"{version}{named}{suffix}"
    if not foreign.is_name(release) or len(release) > _LONGEST_RELEASE:
        raise UsageError(f"'{release}' cannot be the name of a kernel", "it is too long or has other letters")
    shop = replace(shop, environment={**shop.environment, "LOCALVERSION": suffix})
    difference = config.difference(made[False], text)
    return _Job(request, shop, tree, source, fragments, rt, text, difference, compiler, release)


def _base(request: Request, shop: Workshop, tree: Path, scratch: Path) -> str:
    path = Path(request.base)
    if path.is_file():
        return config.text_of(path)
    if not request.base.endswith("config") or not foreign.is_name(request.base):
        raise UsageError(
            f"there is no configuration '{request.base}'",
            hint="a file, or a target of the kernel as defconfig, tinyconfig",
        )
    compiling.make(shop, tree, scratch, request.base, what=f"make the configuration {request.base}")
    return (scratch / ".config").read_text()


def _configured(shop: Workshop, tree: Path, scratch: Path, text: str) -> str:
    (scratch / ".config").write_text(text)
    compiling.make(shop, tree, scratch, "olddefconfig", what="complete the configuration")
    return (scratch / ".config").read_text()


def _one(job: _Job, work: Path, say: Say) -> Built:
    home = builds.home() / job.release
    if (home / builds.MANIFEST).is_file():
        say(f"{job.release} was built before")
        return Built(home, builds.load(home), cached=True)
    say(f"building {job.release} for {job.shop.target.name} with {job.shop.made_by}, {job.shop.jobs} jobs")
    begun = time.monotonic_ns()
    stage = builds.home() / f".new-{job.release}"
    objects = work / f"objects-{job.release}"
    log = work / f"{job.release}.log"
    log.unlink(missing_ok=True)
    try:
        for place in (stage, objects):
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
        _compile(job, objects, log, say)
        say("installing modules and device trees")
        _collect(job, objects, stage)
        package(stage, job.release, job.shop.target.name, job.source.epoch_s)
        shutil.copyfile(log, stage / "build.log")
        manifest = _manifest(job, stage, time.monotonic_ns() - begun)
        replace_file(stage / builds.MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n")
        shutil.rmtree(home, ignore_errors=True)
        stage.rename(home)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        shutil.rmtree(objects, ignore_errors=True)
    log.unlink(missing_ok=True)
    say(f"{job.release} is built: {home}")
    return Built(home, manifest, cached=False)


def _compile(job: _Job, objects: Path, log: Path, say: Say) -> None:
    (objects / ".config").write_text(job.configuration)
    modules = config.options(job.configuration).get("MODULES") == "y"
    if job.shop.made_by == "make":
        goals = [job.shop.target.image, *(["modules"] if modules else []), *(["dtbs"] if _has_trees(job) else [])]
        compiling.compile_with_make(job.shop, job.tree, objects, goals, log, say)
    else:
        kept = objects.parent / f"{objects.name}.config"
        kept.write_text(job.configuration)
        goals = ["config", "kernel", *(["modules"] if modules else []), *(["dtbs"] if _has_trees(job) else [])]
        out = objects / "tuxmake"
        try:
            compiling.compile_with_tuxmake(job.shop, job.tree, objects, out, kept, goals, log, say)
        finally:
            kept.unlink(missing_ok=True)
    found = (objects / "include/config/kernel.release").read_text().strip()
    if found != job.release:
        raise BoardError(f"the kernel calls itself {found}, not {job.release}", "its build added a name of its own")
    if config.difference(job.configuration, (objects / ".config").read_text()):
        raise BoardError("the build changed the configuration", "its compiler is not the one that was asked before")


def _has_trees(job: _Job) -> bool:
    """Whether this architecture has device trees, and the configuration wants them."""
    return job.shop.target.name != "amd64" and config.options(job.configuration).get("OF") == "y"


def _collect(job: _Job, objects: Path, stage: Path) -> None:
    (stage / "boot").mkdir()
    for source, name in ((job.shop.target.boots_from, "vmlinuz"), (".config", "config"), ("System.map", "System.map")):
        shutil.copyfile(objects / source, stage / f"boot/{name}-{job.release}")
    if config.options(job.configuration).get("MODULES") == "y":
        words = (f"INSTALL_MOD_PATH={stage}", "INSTALL_MOD_STRIP=1", "modules_install")
        compiling.make(job.shop, job.tree, objects, *words, what="install the modules")
        for link in ("build", "source"):  # they point into directories of this machine
            (stage / f"lib/modules/{job.release}/{link}").unlink(missing_ok=True)
    if _has_trees(job):
        place = stage / f"usr/lib/linux-image-{job.release}"
        compiling.make(
            job.shop, job.tree, objects, f"INSTALL_DTBS_PATH={place}", "dtbs_install", what="install the device trees"
        )


def _manifest(job: _Job, stage: Path, took_ns: int) -> Manifest:
    files = [path for path in sorted(stage.rglob("*")) if path.is_file() and path.name != "build.log"]
    return Manifest(
        release=job.release,
        arch=job.shop.target.name,
        rt=job.rt,
        source=job.source.name,
        source_kind=job.source.kind,
        source_sha256=job.source.identity,
        patches=job.source.patches,
        base=job.request.base,
        fragments=tuple(Named(fragment.name, fragment.sha256) for fragment in job.fragments),
        config_sha256=hashlib.sha256(job.configuration.encode()).hexdigest(),
        not_taken=config.not_taken(job.fragments, job.configuration),
        difference=job.difference,
        compiler=job.compiler,
        made_by=job.shop.version(),
        ccache=job.shop.ccache,
        timestamp_s=job.source.epoch_s,
        built_in_ns=took_ns,
        files=tuple(_file(path, stage) for path in files),
    )


def _file(path: Path, stage: Path) -> BuiltFile:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return BuiltFile(path.relative_to(stage).as_posix(), path.stat().st_size, digest)
