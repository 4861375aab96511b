"""A case, the row of the data set: its columns, and how a table of cases is made."""

from collections.abc import Iterable, Iterator
from itertools import islice

from sghc.suite.catalogue import LABELS

SPLITS = ("test", "annotated", "generated")
ALL = "all"  # the config of all languages: it names their files and holds none of its own
CANARY = "sghatecheck:canary:b4ccc730-773d-4f61-8fc8-f09d2e49399f"  # stands in the card and in each Parquet file
BATCH = 10_000  # rows held as Python objects at a time


def features():
    """The data set's `datasets.Features`, the same for every config and split."""
    from datasets import ClassLabel, Features, List, Value

    string, integer = Value("string"), Value("int32")
    return Features(
        case_id=string,
        c_id=integer,
        language=string,
        text=string,
        label=ClassLabel(names=list(LABELS)),
        functionality=string,
        functionality_id=string,
        functional_class=string,
        target=string,
        protected_group=string,
        direction=string,
        cluster=string,
        template_id=string,
        template=string,
        placeholder=string,
        placeholder_value=string,
        votes=List(string),
        majority=string,
        status=string,
        paper_functionality_id=string,
        released_selection=string,
        choices=List(string),
    )


def table(rows: Iterable[dict]):
    """Cases as a `pyarrow.Table` of the data set's schema, made in batches so that a large suite never stands in memory as dicts."""
    import pyarrow as pa

    schema = features().arrow_schema
    return pa.Table.from_batches((pa.RecordBatch.from_pylist(batch, schema) for batch in batches(rows)), schema)


def batches(rows: Iterable[dict]) -> Iterator[list[dict]]:
    rows = iter(rows)
    while batch := list(islice(rows, BATCH)):
        yield batch
