"""A suite in memory."""

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow


@dataclass
class Suite:
    """`tables` holds the cases of each (language, split); `counts` what the repairs touched, by (rule, language).

    `caution` says why scores on the suite are not for reporting, and stands beside each of them; "" where they are. `remarks` is for whoever builds.
    """

    name: str  # official, altered (the release, changed by somebody), starter, or made of the name of the user's folder
    caution: str = ""
    tables: dict[tuple[str, str], "pyarrow.Table"] = field(default_factory=dict)
    counts: Counter = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)

    @property
    def languages(self) -> list[str]:
        return list(dict.fromkeys(language for language, _ in self.tables))
