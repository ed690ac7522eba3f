"""Building: twins from one base, built once, the same bytes; and the errors of sources, patches and compilers."""

from __future__ import annotations

import lzma
import os
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from small_kernel import small_kernel

from rtassay.boot.install import pack
from rtassay.kernels import builds
from rtassay.kernels.building import Built, Request, build, build_commit
from rtassay.kernels.sources import patches_of
from rtassay.model.errors import BoardError, InputFileError, UsageError

PATCH = "--- a/source.c\n+++ b/source.c\n@@ -1 +1 @@\n-int main;\n+int patched;\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("KBUILD_BUILD_USER", "somebody")
    return tmp_path / "home"


def request(source: Path | str, *kinds: bool, **changes: object) -> Request:
    return Request(str(source), "amd64", kinds or (False,), "tinyconfig", made_by="make", ccache=False, **changes)  # type: ignore[arg-type]


def image(built: Built) -> str:
    return (built.path / f"boot/vmlinuz-{built.manifest.release}").read_text()


def git(tree: Path, *words: str) -> str:
    identity = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = {"GIT_AUTHOR_DATE": "@86400 +0000", "GIT_COMMITTER_DATE": "@86400 +0000"}
    done = subprocess.run(
        ["git", *words], cwd=tree, check=True, capture_output=True, text=True, env={**os.environ, **identity, **dates}
    )
    return done.stdout.strip()


def commit(tree: Path) -> str:
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", "x")
    return git(tree, "rev-parse", "HEAD")


def test_twins_differ_in_preempt_rt_and_what_follows_and_are_built_once(tmp_path: Path) -> None:
    tree = small_kernel(tmp_path / "tree")
    asked = request(tree, False, True, fragments=("HZ=1000", "UNKNOWN=y"))
    stock, rt = build(asked)
    assert (stock.manifest.rt, rt.manifest.rt, stock.cached, rt.cached) == (False, True, False, False)
    assert [row.option for row in rt.manifest.difference] == [
        "PREEMPT_RT",
        "RCU_BOOST",
    ] and not stock.manifest.difference
    assert rt.manifest.not_taken == ("UNKNOWN=y",)
    assert [one.cached for one in build(asked)] == [True, True]
    assert {manifest.release for _, manifest in builds.every()} == {stock.manifest.release, rt.manifest.release}
    assert not (rt.path / f"lib/modules/{rt.manifest.release}/build").is_symlink()
    assert not list((tmp_path / "cache").rglob("objects-*")) and not list(builds.home().glob(".new-*"))
    # what deploy takes
    assert pack(rt.path, tmp_path / "k.tar.gz") == rt.manifest.release


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path) -> None:
    tree = small_kernel(tmp_path / "tree")
    commit_id = (git(tree, "init", "-q"), commit(tree))[1]
    first = build(request(tree))[0]
    assert "KBUILD_BUILD_TIMESTAMP=Fri Jan 02 00:00:00 UTC 1970" in image(first) and "somebody" not in image(first)
    files = {file.path: file.sha256 for file in first.manifest.files}
    assert any(path.endswith(".deb") for path in files)
    builds.remove(first.path)
    again = build(request(tree))[0]
    assert not again.cached and {file.path: file.sha256 for file in again.manifest.files} == files
    assert first.manifest.source == f"tree {commit_id[:12]}"


def test_a_change_of_the_tree_is_another_kernel(tmp_path: Path) -> None:
    tree = small_kernel(tmp_path / "tree")
    git(tree, "init", "-q")
    first = commit(tree)
    one = build(request(tree))[0].manifest
    (tree / "source.c").write_text("int changed;\n")
    two = build(request(tree))[0].manifest
    (tree / "new.c").write_text("int added;\n")
    three = build(request(tree))[0].manifest
    assert len({one.release, two.release, three.release}) == 3
    path = build_commit(tree, first, made_by="make")
    assert "int main;" in (path / f"boot/vmlinuz-{path.name}").read_text(), "the commit, not the changed tree"
    far = build(request(f"file://{tree}", ref="HEAD"))[0]
    assert "int main;" in image(far) and far.manifest.source.endswith(first[:12])


def test_a_tarball_and_patches(tmp_path: Path) -> None:
    tree = small_kernel(tmp_path / "tree")
    with tarfile.open(tmp_path / "linux-6.66.6.tar.xz", "w:xz") as archive:
        archive.add(tree, "linux-6.66.6")
    (tmp_path / "p.patch.xz").write_bytes(lzma.compress(PATCH.encode()))
    plain = build(request(tmp_path / "linux-6.66.6.tar.xz"))[0]
    patched = build(request(tmp_path / "linux-6.66.6.tar.xz", patches=(tmp_path / "p.patch.xz",)))[0]
    assert "int main;" in image(plain) and "int patched;" in image(patched)
    assert patched.manifest.patches == ("p.patch.xz",) and plain.manifest.release != patched.manifest.release
    assert "int patched;" in image(build(request(tree, patches=(tmp_path / "p.patch.xz",)))[0])
    assert (tree / "source.c").read_text() == "int main;\n", "the tree itself is never patched"
    (tmp_path / "bad.patch").write_text(PATCH.replace("int main;", "int other;"))
    with pytest.raises(UsageError, match=r"bad\.patch"):
        build(request(tree, patches=(tmp_path / "bad.patch",)))


def test_queues_of_patches(tmp_path: Path) -> None:
    queue = tmp_path / "debian" / "patches-rt"
    queue.mkdir(parents=True)
    (queue / "series").write_text("# the order counts\nb.patch\n\na.patch -p1\n")
    for name in "ab":
        (queue / f"{name}.patch").write_text(name)
    with tarfile.open(tmp_path / "linux_6.66.6-1.debian.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "debian", "debian")
    for place in (queue, tmp_path / "linux_6.66.6-1.debian.tar.xz"):
        assert [(patch.name, patch.content) for patch in patches_of([place])] == [("b.patch", b"b"), ("a.patch", b"a")]
    (queue / "series").write_text("../../secret\n")
    with pytest.raises(InputFileError, match="outside"):
        patches_of([queue])
    with pytest.raises(InputFileError, match="series"):
        patches_of([tmp_path])
    os.mkfifo(queue / "waits")
    for name in ("waits", "nothing"):
        (queue / "series").write_text(f"{name}\n")
        with pytest.raises(InputFileError, match="cannot read the queue"):
            patches_of([queue])


def test_a_source_without_preempt_rt_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no PREEMPT_RT") as told:
        build(request(small_kernel(tmp_path / "tree", rt=False), True))
    assert "--patch" in str(told.value.hint) and not builds.every()


def test_a_kernel_that_does_not_build_leaves_nothing_but_its_log(tmp_path: Path) -> None:
    tree = small_kernel(tmp_path / "tree")
    (tree / "broken").write_text("")
    with pytest.raises(BoardError, match="error: it is broken") as told:
        build(request(tree))
    assert not builds.every() and not list(builds.home().iterdir())
    assert "it is broken" in Path(str(told.value.hint).removeprefix("the whole log: ")).read_text()


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    tree = small_kernel(tmp_path / "tree")
    (tmp_path / "x.tar").write_bytes(b"no archive")
    os.mkfifo(tmp_path / "fifo")
    for source, words in (
        (tmp_path / "fifo", "no regular file"),
        (tmp_path, "no source of Linux"),
        (tmp_path / "nothing", "no such"),
        (tmp_path / "x.tar", "no archive"),
    ):
        with pytest.raises(UsageError, match=words):
            build(request(source))
    with pytest.raises(UsageError, match="--ref v6 needs a git"):
        build(request(tmp_path / "x.tar", ref="v6"))
    (tree / ".config").write_text("")
    with pytest.raises(UsageError, match="build of its own"):
        build(request(tree))


def test_builds_are_found_by_a_beginning(tmp_path: Path) -> None:
    stock, rt = build(request(small_kernel(tmp_path / "tree"), False, True))
    assert builds.find("6.66.6-rt")[1] == rt.manifest and builds.find(str(stock.path))[1] == stock.manifest
    with pytest.raises(UsageError, match="fits 2"):
        builds.find("6.66")
    with pytest.raises(UsageError, match="no kernel build"):
        builds.find("7")
    builds.remove(rt.path)
    assert [manifest for _, manifest in builds.every()] == [stock.manifest]


def test_an_interrupted_build_ends_its_compilers_and_leaves_no_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rtassay.kernels.compiling._TELL_EVERY_S", -1.0)
    tree = small_kernel(tmp_path / "tree")
    (tree / "slow").write_text("")

    def say(words: str) -> None:
        if words.startswith("compiling: 1 "):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(request(tree), say)
    compiler = int((tree / "slow").read_text())
    status = Path(f"/proc/{compiler}/status")
    for _ in range(600):  # its new parent may need a moment to collect it
        if not status.exists() or "\nState:\tZ" in status.read_text():
            break
        time.sleep(0.1)
    else:
        raise AssertionError(f"the compiler {compiler} still runs")
    assert not builds.every() and not list(builds.home().iterdir())
    assert not list((tmp_path / "cache").rglob("objects-*"))
