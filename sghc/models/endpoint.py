"""A model behind an OpenAI-compatible endpoint (a provider's, vLLM, llama.cpp, Ollama …), asked through the `openai` client.

The client retries what may pass (connections, time-outs, 408, 409, 429, 5xx; it waits as Retry-After says). A call that fails for good is an answer
with an error, which stays missing. The key is read from OPENAI_API_KEY, at each batch anew, and is kept nowhere. Of an exception no more is told than
its type and its HTTP status, since its message is the server's and may hold anything.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import Mapping, Sequence

from sghatecheck_metric.reading import REJECTED
from sghc.errors import InputError, shown
from sghc.models import asking
from sghc.models.detector import Answer
from sghc.models.reader import read_label, read_words
from sghc.models.reply import Reply, reply_of, score_of
from sghc.models.web import base_of, failures, is_lasting, status_of, what, without_queries

KEY = "OPENAI_API_KEY"
MAX_TOKENS = {"chat": 16, "completions": 1}  # a base model goes on behind its label, where the last character is no answer any more
NEUTRAL = "It is raining."  # asked before the first case: what fails for this is the settings' fault, not a case's
SEED = 12345
LONGEST_WAIT = 120  # seconds of a Retry-After that the client heeds, as its MAX_RETRY_AFTER_DELAY
BAD_REQUEST = {400, 422}
ADVICE = {
    401: f"the key is refused; set {KEY} in the environment to a key of this endpoint",
    402: "the account is out of credit",
    403: "the key, or a firewall, does not allow the model {model}",
    404: "no such path or model; expected a base URL such as http://localhost:8000/v1, and a model that it lists, found {model}",
    405: "not a path of this API; expected a base URL such as http://localhost:8000/v1",
    429: "the account's quota is used up",
}
ELSE = "a neutral sentence gets no answer of the {api} API; see whether it and the base URL fit the server, and {model} takes temperature 0"


class EndpointDetector:
    """Asks an endpoint, several calls at a time.

    Args:
        model: as the endpoint calls it.
        base_url: up to and with `/v1`. A query goes with every call and into no record; a user name or a password is refused.
        api: "chat", where what `ask` gives is a user's message, or "completions", where it is the prompt.
        ask: a case's text in, what the model is asked out; `prompt_name` is how the record calls it.
        words: word -> label code, as `reader.answer_words` gives them; by default the last character is read.
        max_tokens: new tokens at most; by default 16 in a chat and 1 in completions.
        concurrency: calls under way at a time.
        max_retries: of one call, by the client.
        timeout: seconds without a sign of the server, for each try.

    Raises:
        InputError: an argument out of range, a URL that is none or holds a password, no `openai` installed.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        api: str = "chat",
        ask: asking.Ask = asking.PAPER,
        prompt_name: str = "paper",
        words: Mapping[str, int] | None = None,
        max_tokens: int | None = None,
        concurrency: int = 8,
        max_retries: int = 5,
        timeout: float = 60.0,
    ):
        if api not in MAX_TOKENS:
            raise InputError(f"endpoint: api is {shown(api)}, expected one of {', '.join(MAX_TOKENS)}")
        max_tokens = MAX_TOKENS[api] if max_tokens is None else max_tokens
        if not model or min(max_tokens, concurrency) < 1 or max_retries < 0 or not 0 < timeout < float("inf"):
            raise InputError("endpoint: expected a model, max_tokens and concurrency of 1 or more, max_retries of 0 or more and a time-out above 0")
        if not has_client():
            raise InputError("endpoint: needs the openai package (pip install openai)")
        base_url, self.query = base_of(base_url)
        self.ask, self.words = ask, words
        self.concurrency, self.max_retries, self.timeout = concurrency, max_retries, timeout
        self.batch_size = concurrency * 4
        self.forms = forms(api, max_tokens, scored=words is None)
        self.proven = False  # whether the last batch was answered, at least in part
        self.identity = {
            "kind": "endpoint",
            "base_url": base_url,
            "model": model,
            "api": api,
            "prompt": {"name": prompt_name, "sha256": hashlib.sha256(ask("|").encode()).hexdigest()},  # as in causal.py
            "reading": "last-character" if words is None else dict(words),
            "max_tokens": max_tokens,
            "temperature": 0,
        }

    def answer(self, texts: Sequence[str]) -> list[Answer]:
        """One answer for each text, in order; a call that failed for good is an `Answer` with an error.

        Raises:
            InputError: no call can succeed: nothing listens, the key is refused, there is no such model.
        """
        if not texts:
            return []
        with without_queries():
            return asyncio.run(self.answer_all(texts))

    async def answer_all(self, texts: Sequence[str]) -> list[Answer]:
        gate = asyncio.Semaphore(self.concurrency)
        async with self.client() as client:
            if not self.proven:
                await self.prove(client)

            async def in_turn(text: str) -> Answer:
                async with gate:
                    return await self.answer_one(client, text)

            answers = await asyncio.gather(*map(in_turn, texts))
        self.proven = any(answer.error is None for answer in answers)
        return answers

    async def prove(self, client) -> None:
        """Asks about a neutral sentence, and finds the fullest form of a request that the endpoint takes.

        Done before the first batch, and after one without any answer: a server that went away or a key that was withdrawn ends the run, where a case
        that a content filter refuses does not. What may pass is left to the cases' own calls.
        """
        for form in self.forms:
            try:
                await self.send(client, self.ask(NEUTRAL), form)
            except failures() as error:
                if status_of(error) in BAD_REQUEST and form is not self.forms[-1]:
                    continue
                if is_lasting(error):
                    raise InputError(self.advice(error)) from None
            else:
                self.forms = [form]
            return

    async def answer_one(self, client, text: str) -> Answer:
        asked = self.ask(text)
        try:
            return self.read(await self.send(client, asked, self.forms[0]), asked)
        except failures() as error:
            return Answer(error=f"the call failed ({what(error)})")

    async def send(self, client, asked: str, form: dict) -> Reply:
        """One call with its retries. The JSON is read as it came: the client's typed responses are not validated and may hold anything."""
        common = {"model": self.identity["model"], "temperature": 0, **form}
        async with asyncio.timeout((self.timeout + LONGEST_WAIT) * (self.max_retries + 1)):  # a server that sends a byte a minute never times out
            if self.identity["api"] == "chat":
                messages = [{"role": "user", "content": asked}]
                raw = await client.chat.completions.with_raw_response.create(messages=messages, **common)
            else:
                raw = await client.completions.with_raw_response.create(prompt=asked, **common)
        return reply_of(json.loads(raw.text), self.identity["api"])

    def read(self, reply: Reply, asked: str) -> Answer:
        output = reply.text.removeprefix(asked)
        if reply.refused:
            return Answer(output=output)
        code = read_label(output, asked) if self.words is None else read_words(output, self.words)
        if code == REJECTED:
            return Answer(output=output)
        score, mass = score_of(reply, code) if self.words is None else (None, None)
        return Answer(prediction=code, output=output, score=score, mass=mass)

    def client(self):
        """A client for one batch: it belongs to one event loop, and the key lives no longer than it does."""
        from openai import AsyncOpenAI

        key = key_of_environment()
        try:
            return AsyncOpenAI(
                api_key=key or "none",  # the client wants one where the server does not
                base_url=self.identity["base_url"],
                default_query=self.query,
                max_retries=self.max_retries,
                timeout=self.timeout,
            )
        except Exception as error:  # of the environment's own settings (proxies, certificates, headers), which a message might repeat
            raise InputError(f"endpoint: the openai client cannot be made from the environment's settings ({type(error).__name__})") from None

    def advice(self, error: BaseException) -> str:
        """What a user can do about an error that lasts."""
        status = status_of(error)
        if status is None and not isinstance(error, ValueError):
            advice = "nothing answers there; see whether the server runs and the URL is right"
        else:
            advice = ADVICE.get(status, ELSE).format(model=shown(self.identity["model"]), api=self.identity["api"])
        return f"{self.identity['base_url']}: {advice} ({what(error)})"


def forms(api: str, max_tokens: int, scored: bool) -> list[dict]:
    """What a request may hold beside model, prompt and temperature, from the fullest form to the plainest: servers differ in what they take.

    OpenAI allows 20 alternatives of a token in a chat and 5 in completions, others fewer or none; its newer models want `max_completion_tokens`.
    """
    length = {"max_tokens": max_tokens}
    logprobs = [{"logprobs": True, "top_logprobs": n} if api == "chat" else {"logprobs": n} for n in (20, 5)] if scored else []
    renamed = [{"max_completion_tokens": max_tokens}] if api == "chat" else []
    return [length | {"seed": SEED} | more for more in (*logprobs, {})] + [length, *renamed]


def key_of_environment() -> str:
    """The key, or "". InputError where it cannot be sent: the transport's own message would repeat it."""
    key = os.environ.get(KEY, "").strip()
    if not all("!" <= character <= "~" for character in key):
        raise InputError(f"{KEY} holds a character that no key has, such as a space, a line break or a curly quote")
    return key


def has_client() -> bool:
    try:
        import openai  # noqa: F401
    except ImportError:
        return False
    return True
