"""`tasks.py` sets up once, passes everything through, and says in one line why it cannot go on."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: Plays the Python of `.venv`: writes down each call, installs nothing.
STAND_IN = """#!/bin/sh
echo "$@" >> "{folder}/calls"
case "$*" in
    "-m pip --version") exit 0 ;;
    "-m pip install"*) {install} ;;
    *) exit ${{STAND_IN_STATUS:-0}} ;;
esac
"""


class Project:
    """A copy of the task file in a folder of its own, with a stand-in for the Python of `.venv`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("tasks.py", "pyproject.toml"):
            shutil.copy(ROOT / name, folder / name)

    def stand_in(self, install: str = "exit 0") -> None:
        """Make the stand-in; `install` is what it does when it is to install."""
        programs = self.folder / ".venv" / "bin"
        programs.mkdir(parents=True, exist_ok=True)
        for name in ("python", "checkrein", "ruff", "pyright"):
            (programs / name).write_text(STAND_IN.format(folder=self.folder, install=install))
            (programs / name).chmod(stat.S_IRWXU)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, str(self.folder / "tasks.py"), *arguments]

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments), env=os.environ | variables, capture_output=True, text=True, timeout=120
        )

    def calls(self, start: str = "") -> list[str]:
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if line.startswith(start) and line != "-m pip --version"]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project whose `.venv` needs nothing real."""
    made = Project(tmp_path)
    made.stand_in()
    return made


def test_the_first_use_installs_and_later_ones_do_not(project: Project) -> None:
    project.run("test")
    assert len(project.calls("-m pip install")) == 1

    project.run("test")
    project.run("run")
    assert len(project.calls("-m pip install")) == 1


def test_the_kit_needs_no_development_tools_and_the_tests_do(project: Project) -> None:
    project.run("run")
    assert "ruff==" not in project.calls("-m pip install")[0]

    project.run("test")
    assert "ruff==" in project.calls("-m pip install")[1]


def test_a_change_of_the_projects_metadata_installs_again(project: Project) -> None:
    project.run("run")
    with (project.folder / "pyproject.toml").open("a") as metadata:
        metadata.write("\n")
    project.run("run")

    assert len(project.calls("-m pip install")) == 2


def test_an_installation_that_failed_is_tried_again(project: Project) -> None:
    project.stand_in(install="exit 1")
    assert project.run("run").returncode == 1
    project.stand_in()
    assert project.run("run").returncode == 0


def test_run_without_arguments_leaves_the_choice_to_the_kit(project: Project) -> None:
    project.run("run")
    assert project.calls("run") == ["run"]


def test_test_without_arguments_means_all_tests_side_by_side(project: Project) -> None:
    project.run("test")
    (call,) = project.calls("-m pytest")
    assert re.fullmatch("-m pytest -n [234]", call)


def test_files_named_on_the_command_line_of_run_are_where_its_user_is(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    checkrein = project.folder / ".venv" / "bin" / "checkrein"
    checkrein.write_text("#!/bin/sh\npwd\n")
    run = subprocess.run(
        project.command("run", "--results", "here.jsonl"),
        cwd=elsewhere,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert run.stdout == f"{elsewhere}\n"


def test_arguments_reach_the_program_as_they_are(project: Project) -> None:
    project.run("run", "codex", "--only", "steer.idle.rejected")
    project.run("test", "-k", "a and b")

    assert project.calls("run") == ["run codex --only steer.idle.rejected"]
    assert project.calls("-m pytest") == ["-m pytest -k a and b"]


@pytest.mark.parametrize("status", [0, 1, 2, 3, 5, 130])
def test_the_exit_status_of_the_program_is_passed_through(status: int, project: Project) -> None:
    assert project.run("test", STAND_IN_STATUS=str(status)).returncode == status


def test_every_check_runs_and_each_that_fails_is_named(project: Project) -> None:
    run = project.run("check", STAND_IN_STATUS="1")

    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == "tasks: not clean: ruff check, ruff format, pyright"
    assert project.run("check").returncode == 0


def test_two_at_once_set_up_once(project: Project) -> None:
    # The first to install holds the lock until the second has said that it waits.
    project.stand_in(install=f'until [ -e "{project.folder}/waited" ]; do sleep 0.05; done')
    processes = [
        subprocess.Popen(project.command("run"), stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    try:
        for process in processes:
            assert process.stderr is not None
        first_words = {process.stderr.readline() for process in processes if process.stderr}
        (project.folder / "waited").touch()
        for process in processes:
            process.communicate(timeout=60)
    finally:
        (project.folder / "waited").touch()
        for process in processes:
            process.kill()

    assert "tasks: waiting for another tasks.py that sets up the same folder\n" in first_words
    assert [process.returncode for process in processes] == [0, 0]
    assert len(project.calls("-m pip install")) == 1


def test_ctrl_c_during_the_setup_ends_it_with_130(project: Project) -> None:
    project.stand_in(install='echo "installing" >&2; sleep 60')
    process = subprocess.Popen(
        project.command("run"), stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    with process:
        try:
            assert process.stderr is not None
            while process.stderr.readline() != "installing\n":
                pass
            # As a terminal does: to every process of the foreground.
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(timeout=30) == 130
            assert process.stderr.read().endswith("tasks: stopped\n")
        finally:
            process.kill()


def test_an_older_python_is_told_in_one_line(project: Project) -> None:
    task_file = str(project.folder / "tasks.py")
    code = f"import runpy, sys; sys.version_info = (3, 9, 2, 'final', 0); runpy.run_path({task_file!r})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert run.returncode == 3
    assert run.stderr == f"tasks: Python 3.11 or newer is needed; {sys.executable} is 3.9.2\n"


def test_a_python_without_venv_is_told_in_one_line(tmp_path: Path) -> None:
    project = Project(tmp_path)
    code = f"""
import importlib.util, runpy, sys
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "ensurepip" else real(name, package)
sys.argv = ["tasks.py", "run"]
runpy.run_path({str(project.folder / "tasks.py")!r}, run_name="__main__")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert run.returncode == 3
    assert run.stderr.startswith(f"tasks: {sys.executable} lacks the venv module: install it")
    assert run.stderr.count("\n") == 1


def test_a_full_disk_is_told_in_one_line_below_pips_own_words(project: Project) -> None:
    project.stand_in(install='echo "ERROR: [Errno 28] No space left on device" >&2; exit 1')
    run = project.run("run")

    assert run.returncode == 3
    assert run.stderr.splitlines()[-1] == "tasks: the disk is full: free about 1 GB and run this again"


def test_a_real_pip_without_a_network_is_told_in_one_line(tmp_path: Path) -> None:
    project = Project(tmp_path)
    run = project.run(
        "run",
        PIP_CONFIG_FILE=os.devnull,
        PIP_FIND_LINKS="",
        PIP_INDEX_URL="http://127.0.0.1:9/simple",
        PIP_NO_CACHE_DIR="1",
        PIP_RETRIES="1",
    )

    assert run.returncode == 3
    assert run.stderr.splitlines()[-1].startswith("tasks: pip could not reach its index")


@pytest.mark.parametrize(
    ("arguments", "status"), [((), 2), (("frobnicate",), 2), (("check", "x"), 2), (("--help",), 0)]
)
def test_a_wrong_use_prints_the_tasks(arguments: tuple[str, ...], status: int, project: Project) -> None:
    run = project.run(*arguments)

    assert run.returncode == status
    assert "python3 tasks.py test" in run.stdout
    assert project.calls() == []


def test_clean_removes_what_the_tasks_made_and_nothing_else(project: Project) -> None:
    project.run("run")
    (project.folder / "adapters" / "__pycache__").mkdir(parents=True)
    (project.folder / "adapters" / "kept.py").touch()
    (project.folder / ".checkrein" / "runs").mkdir(parents=True)

    assert project.run("clean").returncode == 0
    assert sorted(path.name for path in project.folder.iterdir()) == [
        "adapters",
        "calls",
        "pyproject.toml",
        "tasks.py",
    ]
    assert [path.name for path in (project.folder / "adapters").iterdir()] == ["kept.py"]


def test_an_environment_that_is_a_link_is_unlinked_and_what_it_points_to_stays(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project").mkdir()
    project = Project(tmp_path / "project")
    (project.folder / ".venv").symlink_to(tmp_path / "elsewhere")

    assert project.run("clean").returncode == 0
    assert not (project.folder / ".venv").is_symlink()
    assert (tmp_path / "elsewhere").is_dir()


def test_the_readme_names_the_commands_that_are_tested_here() -> None:
    readme = (ROOT / "README.md").read_text()

    assert "python3 tasks.py run" in readme
    assert "python3 tasks.py test" in readme


def test_the_ci_script_ends_with_the_readmes_test_command() -> None:
    script = ROOT / ".ci" / "run"

    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-1] == "exec python3 tasks.py test"
