"""A real Chromium for the tests: the one that is named or installed, else one from npm, put into the kit's cache.

npm's `@sparticuz/chromium` (MIT) holds a headless Chromium for Linux on x86-64 inside the package itself, compressed
with Brotli, and the libraries that a bare machine lacks: 65 MB. So the tests need nothing beside what the kit needs.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tarfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from checkrein.adapters.provision.cache import default_cache
from checkrein.adapters.provision.npm import find_node, install_package

PACKAGE, VERSION = "@sparticuz/chromium", "147.0.0"

#: Where a browser of the machine's own may be; the variable names one, such as that of a macOS application.
VARIABLE = "CHECKREIN_CHROMIUM"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

#: Seconds that npm may take for the package.
NPM_SECONDS = 600.0

UNPACK = """
const fs = require("node:fs"), zlib = require("node:zlib");
const [from, to] = process.argv.slice(1);
fs.writeFileSync(to, zlib.brotliDecompressSync(fs.readFileSync(from)));
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chromium:
    """The program, and the folder of libraries that it needs beside those of the machine; None for none."""

    program: Path
    libraries: Path | None


def find_chromium() -> Chromium:
    """The machine's Chromium, else the one from npm, which is fetched once."""
    named = os.environ.get(VARIABLE) or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if named:
        return Chromium(program=Path(named), libraries=None)
    here = f"{platform.system()} {platform.machine()}"
    assert here == "Linux x86_64", f"no Chromium on PATH: install one, or name it with {VARIABLE} ({here})"
    cache = default_cache()
    entry = cache.entry("test-chromium", VERSION)
    with cache.lock("test-chromium", VERSION, deadline_seconds=NPM_SECONDS, on_wait=lambda: None):
        if not entry.is_dir():
            with cache.partial("test-chromium", VERSION) as folder:
                _fetch(folder)
                cache.publish(folder / "browser", "test-chromium", VERSION)
    return Chromium(program=entry / "chromium", libraries=entry / "lib")


def _fetch(folder: Path) -> None:
    project, browser = folder / "project", folder / "browser"
    for made in (project, browser):
        made.mkdir()
    node = find_node()
    install_package(
        node,
        PACKAGE,
        VERSION,
        project=project,
        own_folder=folder / "npm",
        deadline_seconds=NPM_SECONDS,
        on_tick=lambda: None,
    )
    packed = project / "node_modules" / PACKAGE / "bin"
    for name in ("chromium", "al2023.tar"):
        subprocess.run(
            [node.binary, "-e", UNPACK, packed / f"{name}.br", browser / name], check=True, timeout=120
        )
    (browser / "chromium").chmod(0o755)
    with tarfile.open(browser / "al2023.tar") as libraries:
        libraries.extractall(browser, filter="data")


@contextmanager
def open_browser() -> Generator[Browser]:
    """Chromium, headless, without a sandbox of its own: it only ever sees our page."""
    found = find_chromium()
    environment: dict[str, str | float | bool] = dict(os.environ)
    if found.libraries is not None:
        before = os.environ.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = f"{found.libraries}:{before}" if before else str(found.libraries)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found.program,
            args=["--no-sandbox", "--no-zygote"],
            env=environment,
        )
        try:
            yield browser
        finally:
            browser.close()
