"""Lets redis-py's own tests run: they look for RedisBloom by the name of its module."""

import pytest


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session):
    from tests.conftest import REDIS_INFO

    REDIS_INFO["modules"] = [{"name": "bf", "ver": 20802}]
