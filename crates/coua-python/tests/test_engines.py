"""Coua in other people's engines."""

import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from polars.io.plugins import register_io_source

import coua
import coua.duckdb
import coua.polars

ROWS = 200_000


def column(begin: int = 0) -> list[str | None]:
    """Every third row is a repeat, some are null."""
    return [None if row % 1000 == 999 else f"url {begin + row - (row % 3 == 2)}" for row in range(ROWS)]


def first_of(keys: list[str | None], before: set[str] = frozenset()) -> list[int]:  # type: ignore[assignment]
    seen, rows = set(before), []
    for row, key in enumerate(keys):
        if key is None or key not in seen:
            rows.append(row)
        if key is not None:
            seen.add(key)
    return rows


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "urls.parquet"
    pl.DataFrame({"url": column(), "row": range(ROWS)}).write_parquet(path, row_group_size=10_000)
    return path


class TestPolars:
    def test_first_rows_in_order(self, parquet: Path) -> None:
        frame = coua.polars.first_seen(pl.scan_parquet(parquet), "url")
        for _ in range(2):
            assert frame.collect()["row"].to_list() == first_of(column())
        assert frame.collect(engine="streaming")["row"].to_list() == first_of(column())

    def test_history_across_runs(self, parquet: Path, tmp_path: Path) -> None:
        with coua.open(tmp_path / "seen.coua") as seen:
            rows = coua.polars.first_seen(pl.scan_parquet(parquet), "url", seen).collect()
            assert rows["row"].to_list() == first_of(column())
        later = pl.LazyFrame({"url": column(ROWS // 2), "row": range(ROWS)})
        with coua.open(tmp_path / "seen.coua") as seen:
            rows = coua.polars.first_seen(later, "url", seen).collect()
        before = {key for key in column() if key is not None}
        assert rows["row"].to_list() == first_of(column(ROWS // 2), before)

    def test_what_follows_sees_rows_as_they_are(self, parquet: Path) -> None:
        first = first_of(column())
        frame = coua.polars.first_seen(pl.scan_parquet(parquet), "url")
        even = [row for row in first if row % 2 == 0]
        assert frame.filter(pl.col("row") % 2 == 0).collect()["row"].to_list() == even
        assert frame.filter(pl.col("row") % 2 == 0).head(7).collect()["row"].to_list() == even[:7]
        assert frame.head(7).filter(pl.col("row") % 2 == 0).collect()["row"].to_list() == [row for row in first[:7] if row % 2 == 0]
        assert frame.select("row").sum().collect().item() == sum(first)
        assert frame.select(pl.len()).collect().item() == len(first)

    def test_several_columns(self) -> None:
        rows = {"a": ["x", "x", None, "x", None, "xy"], "b": [1, 2, 1, 1, 1, None], "row": range(6)}
        frame = coua.polars.first_seen(pl.LazyFrame(rows), ["b", "a"])
        assert frame.collect()["row"].to_list() == [0, 1, 2, 4, 5]
        assert frame.select("row").collect()["row"].to_list() == [0, 1, 2, 4, 5]
        assert frame.filter(pl.col("b") == 1).select("a").collect()["a"].to_list() == ["x", None, None]
        assert coua.polars.first_seen(pl.LazyFrame(rows), ["b"]).collect()["row"].to_list() == [0, 1, 5]

    def test_columns_that_nobody_asks_for_are_not_read(self, parquet: Path) -> None:
        asked: list[list[str] | None] = []

        def source(with_columns: list[str] | None, *_: object) -> Iterator[pl.DataFrame]:
            asked.append(with_columns)
            yield from (batch.select(with_columns or pl.all()) for batch in pl.scan_parquet(parquet).collect_batches())

        wide = register_io_source(source, schema={"url": pl.String, "row": pl.Int64})
        frame = coua.polars.first_seen(wide.with_columns(other=pl.lit(1)), "url")
        assert frame.select("other").collect().height == len(first_of(column()))
        assert frame.filter(pl.col("url") == "url 0").select("other").collect().height == 1
        assert asked == [["url"], ["url"]]

    def test_rows_that_nobody_got_are_not_seen(self, parquet: Path) -> None:
        seen = coua.CuckooFilter()
        got = coua.polars.first_seen(pl.scan_parquet(parquet), "url", seen).head(10).collect()
        assert got["row"].to_list() == first_of(column())[:10]
        rest = coua.polars.first_seen(pl.scan_parquet(parquet), "url", seen).collect()
        assert got["row"].to_list() + rest["row"].to_list() == first_of(column())

    def test_an_unknown_column_is_an_error(self, parquet: Path) -> None:
        with pytest.raises(pl.exceptions.PolarsError):
            coua.polars.first_seen(pl.scan_parquet(parquet), "uri").collect()


class TestDuckDB:
    def test_first_rows(self, parquet: Path) -> None:
        connection = duckdb.connect(config={"threads": 1})
        coua.duckdb.register(connection, "first_seen", coua.CuckooFilter())
        found = connection.sql(f"select row from '{parquet}' where first_seen(url)").fetchnumpy()
        assert found["row"].tolist() == first_of(column())

    def test_each_key_once_with_threads_and_no_row_lost(self, parquet: Path) -> None:
        connection = duckdb.connect(config={"threads": 4})
        seen = coua.CuckooFilter()
        coua.duckdb.register(connection, "first_seen", seen)
        found = connection.sql(f"select url from '{parquet}' where first_seen(url)").fetchnumpy()
        urls = [url for url in found["url"].tolist() if url is not None]
        assert sorted(urls) == sorted({key for key in column() if key is not None})
        assert len(urls) == len(seen)
        assert len(found["url"]) == len(first_of(column()))

    def test_integers(self) -> None:
        connection = duckdb.connect()
        coua.duckdb.register(connection, "first_seen", coua.CuckooFilter(), duckdb.sqltypes.BIGINT)
        query = "select count(*) from (select range % 1000 as key from range(100000)) where first_seen(key)"
        assert connection.sql(query).fetchall() == [(1000,)]

    def test_only_rows_that_were_chosen_first_are_seen(self) -> None:
        connection = duckdb.connect()
        seen = coua.CuckooFilter()
        coua.duckdb.register(connection, "first_seen", seen)
        chosen = "with chosen as materialized (select i from range(1000) a(i) join range(10) b(j) on i = j where i > 5)"
        for rows in (4, 0):
            query = f"{chosen} select count(*) from chosen where first_seen(i::varchar)"
            assert connection.sql(query).fetchall() == [(rows,)]
            assert len(seen) == 4

    def test_a_full_filter_is_an_error_of_the_query(self, parquet: Path) -> None:
        connection = duckdb.connect()
        coua.duckdb.register(connection, "first_seen", coua.CuckooFilter(1000, 0.001))
        with pytest.raises(Exception, match="filter is full"):
            connection.sql(f"select url from '{parquet}' where first_seen(url)").fetchall()


class TestDatasets:
    def test_first_rows(self, parquet: Path, tmp_path: Path) -> None:
        datasets = pytest.importorskip("datasets", reason="skipped: datasets is not installed")
        import coua.datasets

        rows = datasets.Dataset(pa.table({"url": column(), "row": list(range(ROWS))}))
        assert coua.datasets.first_seen(rows, "url")["row"][:] == first_of(column())
        stream = rows.to_iterable_dataset()
        found = [row["row"] for row in coua.datasets.first_seen(stream, "url")]
        assert found == first_of(column())
        with coua.open(tmp_path / "seen.coua") as seen:
            assert len(coua.datasets.first_seen(rows, "url", seen)) == len(first_of(column()))
        with coua.open(tmp_path / "seen.coua") as seen:
            assert len(coua.datasets.first_seen(rows, "url", seen)) == sum(key is None for key in column())

    def test_each_epoch_has_the_same_rows(self, tmp_path: Path) -> None:
        datasets = pytest.importorskip("datasets", reason="skipped: datasets is not installed")
        import coua.datasets

        rows = datasets.Dataset.from_dict({"text": ["a", "b", "a", "c"]}).to_iterable_dataset()
        for size in (1, 2, 10_000):
            once = coua.datasets.first_seen(rows, "text", batch_size=size)
            assert [row["text"] for row in once.take(1)] == ["a"]
            for _ in range(3):
                assert [row["text"] for row in once] == ["a", "b", "c"]
        seen = coua.CuckooFilter()
        known = coua.datasets.first_seen(rows, "text", seen)
        assert [[row["text"] for row in known] for _ in range(2)] == [["a", "b", "c"], []]

    def test_a_dictionary_of_datasets_is_refused(self) -> None:
        datasets = pytest.importorskip("datasets", reason="skipped: datasets is not installed")
        import coua.datasets

        parts = datasets.DatasetDict({"train": datasets.Dataset.from_dict({"text": ["a"]})})
        with pytest.raises(TypeError, match="a DatasetDict has no rows .*; use one of its parts"):
            coua.datasets.first_seen(parts, "text")

    def test_format_and_order_stay_and_nothing_is_said(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        datasets = pytest.importorskip("datasets", reason="skipped: datasets is not installed")
        import coua.datasets

        rows = datasets.Dataset.from_dict({"a": ["x", "x", None, "x"], "b": [1, 2, 1, 1], "row": range(4)})
        with coua.open(tmp_path / "seen.coua") as seen, warnings.catch_warnings():
            warnings.simplefilter("error")
            kept = coua.datasets.first_seen(rows.with_format("numpy", columns=["row"]), ["a", "b"], seen)
        assert kept.format["type"] == "numpy" and kept.format["columns"] == ["row"]
        assert isinstance(kept["row"][:], np.ndarray) and kept["row"][:].tolist() == [0, 1, 2]
        stream = coua.datasets.first_seen(rows.to_iterable_dataset().with_format("numpy"), ["a"])
        assert [type(row["row"]) for row in stream] == [np.int64] * 2
        assert len(coua.datasets.first_seen(rows.select([]), "a")) == 0
        assert capfd.readouterr().err == ""


class TestScrapy:
    SPIDER = """
import sys
import scrapy
from scrapy.crawler import CrawlerProcess


class Pages(scrapy.Spider):
    name = "pages"
    handle_httpstatus_list = [404]

    async def start(self):
        for path in ("a.html", "b.html", "a.html"):
            yield scrapy.Request(f"file://{sys.argv[1]}/{path}")
        yield scrapy.Request("http://127.0.0.1:9/")

    def parse(self, response):
        print("page", response.url.rsplit("/", 1)[1], flush=True)
        yield response.follow("a.html")


process = CrawlerProcess(
    {
        "DUPEFILTER_CLASS": "coua.scrapy.DupeFilter",
        "COUA_FILE": sys.argv[1] + "/seen.coua",
        "COUA_OPTIONS": {"window": "7d"},
        "DOWNLOADER_MIDDLEWARES": {"coua.scrapy.ForgetFailed": 10},
        "RETRY_TIMES": 1,
        "DOWNLOAD_DELAY": 0,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
    }
)
crawler = process.create_crawler(Pages)
process.crawl(crawler)
process.start()
print("failed", crawler.stats.get_value("downloader/exception_count", 0))
"""

    def crawl(self, folder: Path) -> list[str]:
        command = [sys.executable, "-c", self.SPIDER, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        return sorted(done.stdout.split("\n"))[1:]

    def test_requests_are_made_once_over_runs_and_failed_ones_again(self, tmp_path: Path) -> None:
        pytest.importorskip("scrapy", reason="skipped: scrapy is not installed")
        for page in ("a", "b", "c"):
            (tmp_path / f"{page}.html").write_text("<p>a page</p>")
        assert self.crawl(tmp_path) == ["failed 2", "page a.html", "page b.html"]
        # One retry, so two failures: the request was made again.
        assert self.crawl(tmp_path) == ["failed 2"]
        assert len(coua.Window.load(tmp_path / "seen.coua")) == 2

    @pytest.mark.parametrize("setting", ["COUA_FILE=seen.coua", "JOBDIR=job"])
    def test_a_crawl_that_was_stopped_goes_on(self, setting: str, tmp_path: Path) -> None:
        pytest.importorskip("scrapy", reason="skipped: scrapy is not installed")
        command = [sys.executable, str(Path(__file__).parent / "crawl.py"), "-s", setting]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        runs = [[int(page) for page in line.split()] for line in done.stdout.splitlines()]
        assert 60 <= len(runs[0]) < 200
        # Each page once, but for the one that all runs begin with, and the one that fails and is tried again.
        fetched = sorted(page for run in runs for page in run if page not in (0, 7))
        assert fetched == sorted({*range(300)} - {0, 7})
        assert sum(run.count(7) for run in runs) >= 2
        assert set(runs[2]) <= {0, 7}
        seen = coua.CuckooFilter.load(next(tmp_path.rglob("seen.coua")))
        # Without the one that fails.
        assert len(seen) == 299
        assert not list(tmp_path.glob("*.requests"))
