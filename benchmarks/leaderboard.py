"""Many synthetic submissions ranked by `sghatecheck rank`, in a process of its own each time: all of them, none that is new, one that is new.
Then the first page of `sghatecheck serve` over them, in Chromium, where there is one.

    python benchmarks/leaderboard.py SUITE [HOW_MANY]

SUITE is a folder that `sghatecheck build official` wrote. Each submission answers every case (0 or 1) with a score; accuracies are spread from .55
to .95. Making them is not timed. Time is of the whole process, memory its peak; of the page, from its address to the table, and to the answer to a
press on one of its headers, in a new browser context each time.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # a checkout runs without an install
from sghc.leaderboard import rows, submission
from sghc.leaderboard.checks import SHORT
from sghc.leaderboard.ground import open_ground

N = 1000


def add(board: Path, ground, number: int) -> None:
    """Writes one submission into the leaderboard's folder."""
    rng = np.random.default_rng(number)
    order = np.argsort(ground.order)
    right = rng.random(len(order)) < 0.55 + 0.4 * rng.random()
    prediction = np.where(right, ground.gold, 1 - ground.gold).astype(np.int8)[order]
    table = rows.Rows(order, prediction, [None] * len(order), rng.random(len(order)).round(6), np.full(len(order), np.nan))
    ids = ground.cases["case_id"]
    suite = {"name": ground.name, "split": "test", "configs": ground.languages, "data": ground.fingerprint(ground.languages)}
    about = {"model": f"org/model-{number}", "revision": f"{number:040x}", "contact": "nobody", "licence": "none", "suite": suite}
    one = submission.validated(submission.Submission, about, "made up")
    folder = board / one.folder / submission.digest_of(one, rows.digest(table, ids))[:SHORT]
    folder.mkdir(parents=True)
    (folder / "submission.json").write_bytes(submission.to_bytes(one))
    (folder / "predictions.parquet").write_bytes(rows.to_bytes(table, ids))


def timed(what: str, *arguments) -> None:
    start = time.perf_counter()
    command = [sys.executable, "-m", "sghc.cli", "rank", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    said = process.stdout.read().splitlines()[-1]
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    wall, cpu = time.perf_counter() - start, used.ru_utime + used.ru_stime
    print(f"{what:<24} {wall:7.2f} s, {cpu:7.2f} s of processor, {used.ru_maxrss / 1024:6.0f} MiB   ({said.partition(';')[0]})", flush=True)


def first_page(board: Path, suite: Path, times: int = 5) -> None:
    """Prints how long the first page takes until it is there, and until it has answered."""
    import browser

    command = [sys.executable, "-m", "sghc.cli", "serve", str(board), "--suite", str(suite)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with browser.chromium() as chromium, subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        address = "http" + server.stdout.readline().partition("http")[2].split()[0]
        taken = [opened(chromium, address) for _ in range(times)]
        server.terminate()
    for what, found in zip(("first page, table there", "first page, has answered"), zip(*taken, strict=True), strict=True):
        print(f"{what:<24} {statistics.median(found):7.2f} s, {min(found):.2f} to {max(found):.2f} in {times} times")


def opened(chromium, address: str) -> tuple[float, float]:
    page = chromium.new_context(viewport={"width": 1280, "height": 900}).new_page()
    start = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.wait_for_selector(".board tbody tr")
    there = time.perf_counter() - start
    page.locator("button[data-sort=macro_f1]").first.click()
    page.wait_for_selector("th[aria-sort] button[data-sort=macro_f1]")
    answered = time.perf_counter() - start
    page.context.close()
    return there, answered


def main() -> None:
    suite, n = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else N
    ground = open_ground(suite)
    with tempfile.TemporaryDirectory() as place:
        board, cache = Path(place) / "board", Path(place) / "cache"
        for number in range(n):
            add(board, ground, number)
        size = sum(path.stat().st_size for path in board.rglob("*.parquet"))
        print(f"{n:,} submissions of {len(ground.gold):,} rows, {size / n / 1024:.0f} KiB each")
        arguments = (board, "--suite", suite, "--cache", cache)
        timed(f"all {n:,}", *arguments)
        timed("none new", *arguments)
        add(board, ground, n)
        timed("one more", *arguments)
        for name in ("leaderboard.json", "results.parquet"):
            print(f"{name:<24} {(board / name).stat().st_size / 2**20:7.2f} MiB")
        first_page(board, suite)


if __name__ == "__main__":
    main()
