"""The four sources that training reads, small and neutral, laid out as their public repositories."""

import csv
import json
from pathlib import Path

ANSWERS = {"h": "hatespeech", "o": "offensive", "n": "normal"}


class Toy:
    """The four sources, small. Tests change the attributes, then `write()` gives the folder."""

    def __init__(self, top: Path):
        self.top = top
        self.posts = {  # id -> (division, text, labels of the annotators)
            "1_gab": ("train", "bakers like tea", "hhn"),
            "2_gab": ("train", "it rains on the garden", "oon"),
            "3_gab": ("train", "the tram is late", "hon"),
            "4_gab": ("val", "plums are blue", "hhh"),
            "5_gab": ("val", "snow falls", "nnn"),
            "6_gab": ("test", "roses need water", "hhh"),
            "7_gab": ("test", "tea is warm", "nno"),
        }
        self.cold = {"train": [("面包师爱喝茶", 1), ("下雨了", 0)], "dev": [("花园很大", 0)], "test": [("雪很白", 1), ("茶很热", 0)]}
        self.hatem = [("hujan turun", "no"), ("tukang roti\nsuka teh", "yes")]
        self.tweets = [("11", "none"), ("12", "racism"), ("13", "sexism"), ("14", "none"), ("14", "sexism"), ("15", "none")]
        self.texts = [("11", "the kettle sings"), ("12", "bread is brown"), ("14", "two labels"), ("99", "nobody knows this one")]

    @property
    def hydrated(self) -> Path:
        return self.top / "tweets.csv"

    def write(self) -> Path:
        divisions = {split: [one for one, (found, *_) in self.posts.items() if found == split] for split in ("train", "val", "test")}
        dataset = {one: {"post_id": one, "post_tokens": text.split(" "), **given(labels)} for one, (_, text, labels) in self.posts.items()}
        self.put("hatexplain/Data/dataset.json", json.dumps(dataset))
        self.put("hatexplain/Data/post_id_divisions.json", json.dumps(divisions))
        for split, rows in self.cold.items():
            self.table(f"cold/COLDataset/{split}.csv", ["", "split", "topic", "label", "TEXT"], [("0", "train", "tea", y, text) for text, y in rows])
        self.table("hatem/HateMalay Dataset.csv", ["messages", "hate"], self.hatem)
        self.put("waseem_hovy/NAACL_SRW_2016.csv", "".join(f"{one},{label}\n" for one, label in self.tweets))
        self.table("tweets.csv", ["id", "text"], self.texts)
        return self.top

    def put(self, name: str, text: str) -> Path:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def table(self, name: str, columns: list[str], rows) -> None:
        path = self.put(name, "")
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([columns, *rows])


def given(labels: str) -> dict:
    return {"annotators": [{"label": ANSWERS[one], "annotator_id": i} for i, one in enumerate(labels)]}
