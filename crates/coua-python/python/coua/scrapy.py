"""Scrapy: requests that were made once, also in earlier runs, are not made again.

::

    DUPEFILTER_CLASS = "coua.scrapy.DupeFilter"
    COUA_FILE = "seen.coua"                                   # without it, seen.coua in JOBDIR, or nothing is kept
    COUA_OPTIONS = {"window": "7d"}                           # what coua.open takes
    DOWNLOADER_MIDDLEWARES = {"coua.scrapy.ForgetFailed": 10} # a request that fails for good may come again

The filter takes some bytes for each request, where Scrapy's own keeps all fingerprints in memory.
"""

import os
from typing import Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.job import job_dir

import coua

__all__ = ["DupeFilter", "ForgetFailed", "request_failed"]

#: Send this signal, with a `request`, and the request counts as not seen.
request_failed = object()

_BETWEEN_COMMITS = 10_000


class DupeFilter(BaseDupeFilter):
    """Knows requests by Scrapy's fingerprints. Commits now and then, and at the end."""

    def __init__(self, crawler: Crawler, seen: coua.Filter) -> None:
        self._crawler = crawler
        self._seen = seen
        self._uncommitted = 0
        crawler.signals.connect(self._forget, signal=request_failed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        path = crawler.settings.get("COUA_FILE")
        folder = job_dir(crawler.settings)
        if path is None and folder is not None:
            path = os.path.join(folder, "seen.coua")
        if path is None:
            return cls(crawler, coua.CuckooFilter())
        return cls(crawler, coua.open(path, **crawler.settings.getdict("COUA_OPTIONS")))

    def request_seen(self, request: Request) -> bool:
        is_new = self._seen.add(self._fingerprint(request))
        self._uncommitted += is_new
        if self._uncommitted >= _BETWEEN_COMMITS and isinstance(self._seen, coua.File):
            self._seen.commit()
            self._uncommitted = 0
        return not is_new

    def close(self, reason: str) -> None:
        if isinstance(self._seen, coua.File):
            self._seen.close()

    def log(self, request: Request, spider: Spider) -> None:
        self._crawler.stats.inc_value("dupefilter/filtered")

    def _forget(self, request: Request) -> None:
        self._seen._take_back([self._fingerprint(request)])

    def _fingerprint(self, request: Request) -> bytes:
        fingerprinter = self._crawler.request_fingerprinter
        assert fingerprinter is not None, "a crawler has a fingerprinter before it has a dupe filter"
        return fingerprinter.fingerprint(request)


class ForgetFailed:
    """A downloader middleware, to be the one next to the engine: what reaches it has failed for good."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_exception(self, request: Request, exception: Exception) -> None:
        self._crawler.signals.send_catch_log(signal=request_failed, request=request)
