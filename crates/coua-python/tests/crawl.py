"""Crawls a server of 300 pages three times, and prints which were fetched: the first crawl is stopped early.

crawl.py [SCRAPY-ARGUMENT...]: page 7 always fails.
"""

import http.server
import subprocess
import sys
import threading
from pathlib import Path

PAGES = 300
FAILS = 7
hits: list[int] = []


class Server(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        page = int(self.path.strip("/"))
        hits.append(page)
        links = ((page * 3 + 1) % PAGES, (page * 3 + 2) % PAGES, (page + 1) % PAGES)
        body = "".join(f'<a href="/{link}">x</a>' for link in links).encode()
        self.send_response(503 if page == FAILS else 200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


SPIDER = """
import scrapy


class Pages(scrapy.Spider):
    name = "pages"
    start_urls = ["http://127.0.0.1:%d/0"]

    def parse(self, response):
        yield {"url": response.url}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)
"""
SETTINGS = {
    "LOG_LEVEL": "CRITICAL",
    "DUPEFILTER_CLASS": "coua.scrapy.DupeFilter",
    "DOWNLOADER_MIDDLEWARES": '{"coua.scrapy.ForgetFailed": 10}',
    "RETRY_TIMES": 1,
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": False,
    "TELNETCONSOLE_ENABLED": False,
}

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
Path("spider.py").write_text(SPIDER % server.server_port)
command = [sys.executable, "-m", "scrapy", "runspider", "spider.py", *sys.argv[1:]]
for name, value in SETTINGS.items():
    command += ["-s", f"{name}={value}"]
for stop in (60, 0, 0):
    hits.clear()
    subprocess.run([*command, "-s", f"CLOSESPIDER_ITEMCOUNT={stop}"], check=True)
    print(*sorted(hits))
