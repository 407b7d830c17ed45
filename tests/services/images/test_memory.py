"""What hostile and large pictures cost a worker, measured in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data" / "images"

_MEASURE = """
import re, sys
from pathlib import Path
from services.errors import Permanent
from services.images.options import ResizeOptions
from services.images.resize import resize
try:
    list(resize(open(sys.argv[1], "rb"), ResizeOptions()))
    print("done")
except Permanent as error:
    print(error.code)
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


def _resize_apart(path: Path) -> tuple[str, float]:
    """The outcome, and the peak of the process in MB."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", _MEASURE, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=True)
    outcome, peak = done.stdout.split()
    return outcome, int(peak) / 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc, on Linux")
class TestPeak:
    @pytest.mark.parametrize(
        "name",
        [
            "bomb_20000x20000_1bit.png",
            "bomb_header_only_60000x60000.png",
            "bomb_header_65500x65500.jpg",
            "bomb_ztxt_64MB.png",
            "gif_4000_frames_500x500.gif",
        ],
    )
    def test_a_bomb_is_refused_within_100_megabytes(self, name: str) -> None:
        outcome, peak = _resize_apart(DATA / name)
        assert outcome in ("picture_too_large", "picture_broken")
        assert peak < 100

    def test_the_largest_permitted_transparent_png_stays_near_one_decoded_copy(self, tmp_path: Path) -> None:
        path = tmp_path / "large.png"
        Image.new("RGBA", (7_000, 7_000), (200, 40, 40, 120)).save(path, compress_level=1)
        outcome, peak = _resize_apart(path)
        assert outcome == "done"
        assert peak < 350
