"""What a call over the web needs and may tell: a base URL without secrets, logs without a URL's query, errors without the server's words."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from sghc.errors import InputError

TRANSPORTS = ("httpx", "httpx2")  # the openai client's, which log each URL as it is
MAY_PASS = {408, 409, 425, 429}  # HTTP statuses of 400 to 499 that another time may not come


def base_of(url: str) -> tuple[str, dict[str, str]]:
    """A base URL -> (without query and fragment, the query as a dict).

    Raises:
        InputError: no http(s) URL, or one with a user name or a password in it. The message does not repeat it.
    """
    try:
        parts = urlsplit(url.strip())
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        raise InputError("endpoint: the base URL is no URL; expected for example http://localhost:8000/v1") from None
    if "@" in parts.netloc:
        raise InputError("endpoint: the base URL holds a user name or a password; leave it out, and set OPENAI_API_KEY in the environment")
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", "")), query


class NoQuery(logging.Filter):
    """Takes the query, which may be a key, off each URL of a message."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(str(one).partition("?")[0] if "://" in str(one) else one for one in record.args)
        return True


@contextmanager
def without_queries() -> Iterator[None]:
    """While this lasts, the transports' logs hold no query."""
    no_query = NoQuery()
    loggers = [logging.getLogger(name) for name in TRANSPORTS]
    for logger in loggers:
        logger.addFilter(no_query)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(no_query)


def failures() -> tuple[type[Exception], ...]:
    """What a call can raise: the client's errors, a body that is no JSON or not of this API, the deadline of the whole call."""
    from openai import OpenAIError

    return OpenAIError, ValueError, RecursionError, TimeoutError


def status_of(error: BaseException) -> int | None:
    return getattr(error, "status_code", None)


def is_lasting(error: BaseException) -> bool:
    """Whether no later call will fare better, as things stand."""
    status = status_of(error)
    if status is None:
        return isinstance(error, ValueError) or type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout")
    return getattr(error, "code", None) == "insufficient_quota" or (400 <= status < 500 and status not in MAY_PASS)


def what(error: BaseException) -> str:
    """An error as it may be told: its type, and its HTTP status or its cause's type."""
    told = [type(error).__name__]
    if (status := status_of(error)) is not None:
        told.append(f"HTTP {status}")
    elif error.__cause__ is not None:
        told.append(type(error.__cause__).__name__)
    return ", ".join(told)
