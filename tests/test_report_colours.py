"""The colours of the report's map, as those see them who see fewer colours."""

import re

import numpy as np
import pytest

from sghc.leaderboard.report import page

SHEET = page.environment().loader.get_source(page.environment(), "style.css")[0]
VIEWS = {  # Machado, Oliveira and Fernandes (2009), severity 1, on linear sRGB
    "all colours": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
LMS = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]]
LAB = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099], [0.0259040371, 0.7827717662, -0.8086757660]]


def steps(scheme: str) -> np.ndarray:
    """The eleven colours of a scheme in linear sRGB, (11, 3)."""
    codes = re.findall(r"--s\d+: #([0-9a-f]{6})", SHEET)
    assert len(codes) == 22
    codes = codes[:11] if scheme == "light" else codes[11:]
    srgb = np.array([[int(code[place : place + 2], 16) / 255 for place in (0, 2, 4)] for code in codes])
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def oklab(linear: np.ndarray) -> np.ndarray:
    """OKLab (Ottosson 2020) of colours in linear sRGB, (m, 3)."""
    return np.cbrt(linear @ np.array(LMS).T) @ np.array(LAB).T


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_step_further_from_the_middle_looks_so_and_good_never_looks_like_bad(scheme, view):
    lab = oklab(np.clip(steps(scheme) @ np.array(VIEWS[view]).T, 0, 1))
    from_middle = np.linalg.norm(lab - lab[5], axis=1)
    assert (np.diff(from_middle[5:]) > 0.01).all()
    assert (np.diff(from_middle[5::-1]) > 0.01).all()
    apart = np.linalg.norm(lab - lab[::-1], axis=1)[:5]  # of the same step on either side
    assert (apart > [0.15, 0.12, 0.09, 0.06, 0.03]).all()
