"""Scrapy: never repeat a request, even of an earlier run.

::

    DUPEFILTER_CLASS = "coua.scrapy.DupeFilter"
    COUA_FILE = "seen.coua"                                   # default: seen.coua in JOBDIR; without JOBDIR, no file
    COUA_OPTIONS = {"window": "7d"}                           # arguments of coua.open
    DOWNLOADER_MIDDLEWARES = {"coua.scrapy.ForgetFailed": 10} # a request that finally fails may be repeated

The filter takes a few bytes per request, while Scrapy's own keeps all fingerprints in memory.

A stopped crawl continues in the next run. With JOBDIR Scrapy keeps the queued requests. With only COUA_FILE
they count as not seen, and wait in a file beside it, `seen.coua.requests`; the filter is committed at the end of the
crawl. If `COUA_OPTIONS` has a rate, another request may be forgotten, and be repeated.
"""

import logging
import os
import pickle
from pathlib import Path
from typing import Self

from scrapy import Request, Spider
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.http import Response
from scrapy.utils.job import job_dir
from scrapy.utils.request import request_from_dict

import coua

__all__ = ["DupeFilter", "ForgetFailed", "request_failed"]

#: Send this signal with a `request` to make the request count as not seen.
request_failed = object()

_BETWEEN_COMMITS = 10_000


_logger = logging.getLogger(__name__)


class DupeFilter(BaseDupeFilter):
    """Recognizes requests by Scrapy's fingerprints. Commits at the end, and with JOBDIR regularly."""

    def __init__(self, crawler: Crawler, seen: coua.Filter, queue: Path | None = None) -> None:
        self._crawler = crawler
        self._seen = seen
        # The file for queued requests, if Scrapy does not keep them.
        self._queue = queue
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
        seen = coua.open(path, **crawler.settings.getdict("COUA_OPTIONS"))
        return cls(crawler, seen, Path(f"{path}.requests") if folder is None else None)

    def open(self) -> None:
        if self._queue is not None and self._queue.exists():
            for request in pickle.loads(self._queue.read_bytes()):
                self._scheduler().enqueue_request(request_from_dict(request, spider=self._crawler.spider))

    def request_seen(self, request: Request) -> bool:
        is_new = self._seen.add(self._fingerprint(request))
        self._uncommitted += is_new
        # Scrapy stores queued requests, which count as seen, so the filter must be stored too.
        if self._uncommitted >= _BETWEEN_COMMITS and self._queue is None and isinstance(self._seen, coua.File):
            self._seen.commit()
            self._uncommitted = 0
        return not is_new

    def close(self, reason: str) -> None:
        if self._queue is not None:
            self._put_off(self._queue)
        if isinstance(self._seen, coua.File):
            self._seen.close()

    def _put_off(self, queue: Path) -> None:
        """Stores queued requests for the next run."""
        scheduler, waiting = self._scheduler(), []
        while (request := scheduler.next_request()) is not None:
            self._forget(request)
            # The next run begins with these anyway.
            if not request.meta.get("is_start_request"):
                try:
                    as_dict = request.to_dict(spider=self._crawler.spider)
                    pickle.dumps(as_dict)
                    waiting.append(as_dict)
                except (ValueError, TypeError, AttributeError, pickle.PicklingError) as error:
                    _logger.warning("%s is lost unless the next run finds a link to it: %s", request, error)
        if waiting:
            begun = queue.with_name(queue.name + ".tmp")
            begun.write_bytes(pickle.dumps(waiting))
            begun.replace(queue)
        else:
            queue.unlink(missing_ok=True)

    def _scheduler(self) -> BaseScheduler:
        slot = self._crawler.engine._slot
        assert slot is not None, "a scheduler opens and closes its dupe filter"
        return slot.scheduler

    def log(self, request: Request, spider: Spider) -> None:
        self._crawler.stats.inc_value("dupefilter/filtered")

    def _forget(self, request: Request) -> None:
        self._seen._take_back([self._fingerprint(request)])

    def _fingerprint(self, request: Request) -> bytes:
        fingerprinter = self._crawler.request_fingerprinter
        assert fingerprinter is not None, "a crawler has a fingerprinter before it has a dupe filter"
        return fingerprinter.fingerprint(request)


class ForgetFailed:
    """A downloader middleware. Place it next to the engine, where failures are final."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._codes = {int(code) for code in crawler.settings.getlist("RETRY_HTTP_CODES")}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        # While Scrapy retries, no response arrives here.
        if response.status in self._codes:
            self._tell(request)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        self._tell(request)

    def _tell(self, request: Request) -> None:
        self._crawler.signals.send_catch_log(signal=request_failed, request=request)
