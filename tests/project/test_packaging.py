"""The wheel is whole, installs nothing but `checkrein`, and an editable install is the same thing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
TOP_FOLDERS = ("adapters", "conformance", "fixtures", "scripted_models")

#: Imports every module of every package, the scenarios excepted: those are tests, which pytest imports.
IMPORT_ALL = """
import importlib, importlib.util, pkgutil, sys
from pathlib import Path
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    print(name, Path(package.__file__).parent)
    if name.endswith(("scenarios", "fixtures")):
        continue
    for module in pkgutil.iter_modules(package.__path__, name + "."):
        if not module.name.endswith(("__main__", ".guard")):
            importlib.import_module(module.name)
for stranger in ("adapters", "conformance", "fixtures", "scripted_models", "tests"):
    assert importlib.util.find_spec(stranger) is None, stranger
"""


def run(*command: str | Path, cwd: Path) -> str:
    # Outside the repository and without its path, or the folders there would be found instead of what is installed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pip_install(python: Path, *what: str | Path, cwd: Path) -> None:
    """Install into another environment; what building needs is among the dependencies that it sees."""
    options = ("--no-deps", "--no-index", "--no-build-isolation", "--force-reinstall")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, *what, cwd=cwd)


def tracked(*folders: str) -> list[str]:
    """Every file that git knows or would take, below those folders."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *folders, cwd=ROOT)
    return [name for name in listed.split("\0") if name and (ROOT / name).exists()]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project to build from, so that a build leaves nothing in the repository."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in tracked("pyproject.toml", "README.md", "LICENSE", *TOP_FOLDERS):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    return folder


@pytest.fixture(scope="module")
def packaged(checkout: Path) -> set[str]:
    """What the wheel has to hold, besides its metadata."""
    return {
        f"checkrein/{path.relative_to(checkout)}"
        for top in TOP_FOLDERS
        for path in (checkout / top).rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def built(checkout: Path, packaged: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the source distribution and the wheel that was built from it."""
    assert packaged, "listed before the build, which may add files"
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, checkout, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def fresh_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment that sees the dependencies of this one, but not the project."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    site = Path(
        run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    )
    dependencies = folder / "dependencies"
    dependencies.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "checkrein" not in entry.name and entry.name != "__pycache__":
            (dependencies / entry.name).symlink_to(entry)
    (site / "dependencies.pth").write_text(f"{dependencies}\n")
    return python


def test_the_list_of_packages_is_what_is_on_disk() -> None:
    folders = {
        path.parent.relative_to(ROOT)
        for top in TOP_FOLDERS
        for path in (ROOT / top).rglob("*.py")
        if top != "fixtures" or path.parent == ROOT / "fixtures"
    }

    assert sorted(PROJECT["tool"]["setuptools"]["packages"]) == sorted(
        "checkrein." + ".".join(folder.parts) for folder in folders
    )


def test_the_top_level_holds_what_the_design_says() -> None:
    listed = run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    top = {name.partition("/")[0] for name in listed if name and not name.startswith(".")}

    assert top <= {
        *TOP_FOLDERS,
        "CHANGELOG.md",
        "LICENSE",
        "README.md",
        "docs",
        "pyproject.toml",
        "tasks.py",
        "tests",
    }


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(built: Path, packaged: set[str]) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}

    assert names == packaged


def test_the_source_distribution_holds_what_the_wheel_is_built_from(built: Path, packaged: set[str]) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"pyproject.toml", "LICENSE", "README.md"} <= names
    assert {name.removeprefix("checkrein/") for name in packaged} <= names


def test_the_licence_is_in_the_wheel(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (licence,) = (name for name in archive.namelist() if name.endswith("/licenses/LICENSE"))
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()


def test_an_installed_wheel_runs_away_from_the_repository(
    built: Path, fresh_python: Path, tmp_path: Path
) -> None:
    (wheel,) = built.glob("*.whl")
    run(
        fresh_python,
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--no-index",
        "--force-reinstall",
        wheel,
        cwd=tmp_path,
    )

    said = run(fresh_python, "-c", IMPORT_ALL, *PROJECT["tool"]["setuptools"]["packages"], cwd=tmp_path)

    assert all(str(fresh_python.parents[1]) in line for line in said.splitlines())
    command = fresh_python.parent / "checkrein"
    assert run(command, "--version", cwd=tmp_path) == f"checkrein {PROJECT['project']['version']}\n"


def test_an_editable_install_runs_from_the_checkout(
    checkout: Path, packaged: set[str], fresh_python: Path, tmp_path: Path
) -> None:
    assert packaged, "listed before the build, which may add files"
    pip_install(fresh_python, "--editable", checkout, cwd=tmp_path)

    said = run(fresh_python, "-c", IMPORT_ALL, *PROJECT["tool"]["setuptools"]["packages"], cwd=tmp_path)

    assert [line.rpartition(" ")[2] for line in said.splitlines()] == [
        str(checkout.joinpath(*name.split(".")[1:])) for name in PROJECT["tool"]["setuptools"]["packages"]
    ]
    command = fresh_python.parent / "checkrein"
    assert run(command, "--version", cwd=tmp_path) == f"checkrein {PROJECT['project']['version']}\n"
