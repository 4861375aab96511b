"""A profanity classifier over a suite: what functional tests show of a filter that looks for bad words.

    python examples/profanity_filter.py sghatecheck predictions.jsonl singlish

alt-profanity-check is a linear model that was trained to find profanity in English. It loads joblib pickles out of its own wheel, the one exception
that this project makes to the rule that no pickle is loaded.
"""

import json
import sys
from pathlib import Path

from profanity_check import predict, predict_prob

from sghc.suite import folder


def main(suite: str, out: str, *languages: str) -> None:
    cases = folder.read(Path(suite), "test", languages or None, ["case_id", "text"])
    texts = cases["text"].to_pylist()
    with Path(out).open("w", encoding="utf-8") as file:
        for case_id, answer, score in zip(cases["case_id"].to_pylist(), predict(texts), predict_prob(texts), strict=True):
            file.write(json.dumps({"case_id": case_id, "prediction": int(answer), "score": round(float(score), 4)}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
