"""`python -m datasets`: make a database of one of the paper's three workloads."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import duckdb

from datasets.catalogue import DATASETS
from datasets.common import DATA_VARIABLE, DataMissing, data_dir

_EXAMPLES = f"""examples:
  python -m datasets generate nytaxi taxi.duckdb --rows 3000000
  python -m datasets standin sales sales.duckdb
  python -m datasets published nytaxi yellow_tripdata_2020-03.parquet taxi.duckdb

The stand-in data are looked for in the folder that {DATA_VARIABLE} names, else in
../shared/data beside the project. The policy and the queries of each dataset are in
datasets/NAME/policy.toml and datasets/NAME/queries.sql.
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="python -m datasets",
        description=__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(dest="command", required=True)
    generated = commands.add_parser("generate", help="make rows from a seed")
    standin = commands.add_parser("standin", help="load the stand-in data")
    published = commands.add_parser("published", help="load files as their publisher offers them")
    for command in (generated, standin, published):
        command.add_argument("dataset", choices=sorted(DATASETS))
        if command is published:
            command.add_argument("source", type=Path, help="a file, or a folder of files")
        command.add_argument("database", type=Path, help="the DuckDB file to write")
        command.add_argument("--force", action="store_true", help="replace the file if it is there")
    generated.add_argument("--rows", type=int, help="default: as many as the paper has")
    generated.add_argument("--seed", type=int, default=1)
    return top


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 when the database was written."""
    options = parser().parse_args(argv)
    dataset = DATASETS[options.dataset]
    if options.database.exists() and not options.force:
        print(f"{options.database} exists; --force replaces it", file=sys.stderr)
        return 2
    begun = time.perf_counter()
    try:
        if options.command == "generate":
            dataset.generate(options.database, options.rows or dataset.rows, options.seed)
        elif options.command == "standin":
            dataset.load_standin(data_dir(), options.database)
        else:
            dataset.load_published(options.source, options.database)
    except (DataMissing, OSError, duckdb.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    seconds = time.perf_counter() - begun
    with duckdb.connect(str(options.database), read_only=True) as connection:
        rows = connection.execute(f"SELECT count(*) FROM {dataset.table}").fetchall()[0][0]
    print(f"{options.database}: {rows:,} rows of {dataset.table} in {seconds:.1f} s")
    print(f"policy and queries: datasets/{dataset.name}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
