"""Writes the files of the TsFile benchmark, and measures the Python package `tsfile` and pyarrow on them.

usage: tsfile_bench.py write FOLDER | scan FOLDER NAME SECONDS | open FOLDER | parquet FOLDER NAME SECONDS
"""

import os
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from tsfile import ColumnCategory, ColumnSchema, TableSchema, TSDataType, TsFileReader, TsFileTableWriter

KINDS = {"int64": TSDataType.INT64, "double": TSDataType.DOUBLE, "text": TSDataType.TEXT}
SHAPES = {"one": (1, 1_000_000), "many": (1_000, 1_000)}
COLUMNS = 10
SERIES = 100_000
# The package counts times in milliseconds.
START = 1_700_000_000_000


def values(kind, rng, rows):
    """What sensors give: a walk of integers, a walk rounded to three decimals, states."""
    if kind == "int64":
        return np.cumsum(rng.integers(-50, 51, rows)) + 10_000
    if kind == "double":
        return np.round(np.cumsum(rng.normal(0, 0.5, rows)) + 20, 3)
    return np.char.add("state-", rng.integers(0, 50, rows).astype(str)).astype(object)


def path(folder, name):
    return os.path.join(folder, name + ".tsfile")


def write_table(folder, kind, shape):
    devices, rows = SHAPES[shape]
    name = f"{kind}_{shape}"
    names = [f"c{i}" for i in range(COLUMNS)]
    columns = [ColumnSchema("dev", TSDataType.STRING, ColumnCategory.TAG)]
    columns += [ColumnSchema(c, KINDS[kind], ColumnCategory.FIELD) for c in names]
    rng = np.random.default_rng(7)
    frames = []
    with TsFileTableWriter(path(folder, name), TableSchema("t", columns)) as writer:
        for device in range(devices):
            frame = {"time": START + 1000 * np.arange(rows, dtype=np.int64), "dev": f"d{device:06}"}
            frame |= {c: values(kind, rng, rows) for c in names}
            frame = pd.DataFrame(frame)
            for start in range(0, rows, 100_000):
                writer.write_dataframe(frame[start : start + 100_000])
            frames.append(frame)
    table = pa.Table.from_pandas(pd.concat(frames), preserve_index=False)
    pq.write_table(table, os.path.join(folder, name + ".parquet"))


def write_series(folder):
    """One column of many devices, a few rows each."""
    columns = [
        ColumnSchema("dev", TSDataType.STRING, ColumnCategory.TAG),
        ColumnSchema("v", TSDataType.INT64, ColumnCategory.FIELD),
    ]
    with TsFileTableWriter(path(folder, "series"), TableSchema("t", columns)) as writer:
        for start in range(0, SERIES, 10_000):
            devices = np.repeat([f"d{i:06}" for i in range(start, start + 10_000)], 3)
            times = np.tile(START + np.arange(3, dtype=np.int64), 10_000)
            frame = pd.DataFrame({"time": times, "dev": devices, "v": np.arange(30_000, dtype=np.int64)})
            writer.write_dataframe(frame)


def write(folder):
    os.makedirs(folder, exist_ok=True)
    for kind in KINDS:
        for shape in SHAPES:
            if not os.path.exists(path(folder, f"{kind}_{shape}")):
                write_table(folder, kind, shape)
    if not os.path.exists(path(folder, "series")):
        write_series(folder)


def best(seconds, run):
    """The best time of as many runs as fit."""
    end, times = time.perf_counter() + seconds, []
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        points = run()
        times.append(time.perf_counter() - start)
    return points / min(times)


def scan(folder, name, seconds):
    names = [f"c{i}" for i in range(COLUMNS)]

    def run():
        points = 0
        with TsFileReader(path(folder, name)) as reader:
            with reader.query_table("t", names, batch_size=65_536) as result:
                while (batch := result.read_arrow_batch()) is not None:
                    points += batch.num_rows * COLUMNS
        return points

    return best(seconds, run)


def parquet(folder, name, seconds):
    names = [f"c{i}" for i in range(COLUMNS)]

    def run():
        file = pq.ParquetFile(os.path.join(folder, name + ".parquet"))
        batches = file.iter_batches(batch_size=65_536, columns=["time"] + names, use_threads=False)
        return sum(batch.num_rows for batch in batches) * COLUMNS

    return best(seconds, run)


def open_one(folder):
    """Milliseconds to open the file of many series and read one of them."""
    times = []
    for i in range(200):
        start = time.perf_counter()
        with TsFileReader(path(folder, "series")) as reader:
            from tsfile import tag_eq

            with reader.query_table("t", ["v"], tag_filter=tag_eq("dev", "d054321")) as result:
                while result.next():
                    pass
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


if __name__ == "__main__":
    command, folder, *rest = sys.argv[1:]
    if command == "write":
        write(folder)
    elif command == "open":
        print(open_one(folder))
    else:
        print({"scan": scan, "parquet": parquet}[command](folder, rest[0], float(rest[1])))
