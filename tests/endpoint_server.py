"""An OpenAI-compatible server for tests, on loopback: answers 1 to odd cups of tea and 0 to even ones, and misbehaves where it is told to."""

import asyncio
import random
import re
import socket
import threading
import time
from collections import Counter
from contextlib import contextmanager

from sghc.models import prompt

MODEL = "tea-1"


class Server:
    """`script` holds, by case text, the replies to its calls, one after the other; the last is given again. What is not in it is answered."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.script, self.calls, self.bodies, self.queries = {}, Counter(), [], []
        self.key, self.refused, self.delay, self.under_way, self.peak, self.seen = None, set(), 0.0, 0, 0, set()

    async def handle(self, request):
        from starlette.responses import JSONResponse

        body = await request.json()
        self.seen.add(request.headers.get("authorization"))
        self.bodies.append(body)
        self.queries.append(str(request.url.query))
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return JSONResponse({"error": {"message": f"wrong: {request.headers['authorization']}"}}, 401)  # as rude as can be
        if body["model"] != MODEL:
            return JSONResponse({"error": {"message": "no such model", "code": "model_not_found"}}, 404)
        if self.refused & set(body):
            return JSONResponse({"error": {"message": "unsupported"}}, 400)
        self.under_way += 1
        self.peak = max(self.peak, self.under_way)
        try:
            return await self.reply(body, chat="chat" in request.url.path)
        finally:
            self.under_way -= 1

    async def reply(self, body, chat):
        asked = body["messages"][0]["content"] if chat else body["prompt"]
        text = asked.removeprefix(prompt.HEAD).removesuffix(prompt.TAIL)
        self.calls[text] += 1
        replies = self.script.get(text)
        if replies:
            reply = replies[min(self.calls[text], len(replies)) - 1]
            return await reply() if asyncio.iscoroutinefunction(reply) else reply()
        await asyncio.sleep(random.uniform(0, self.delay))
        return said(label_of(text), chat)


def label_of(text: str) -> str:
    number = re.search(r"\d+", text)
    return str(int(number[0]) % 2) if number else "0"


def said(content, chat=True, logprobs=None, **more):
    """A reply of either API."""
    from starlette.responses import JSONResponse

    choice = {"index": 0, "finish_reason": "stop", "logprobs": logprobs}
    choice |= {"message": {"role": "assistant", "content": content, **more}} if chat else {"text": content}
    return JSONResponse({"id": "x", "object": "chat.completion", "created": 1, "model": MODEL, "choices": [choice]})


def failed(status, headers=None, message="it is broken", code=None):
    from starlette.responses import JSONResponse

    return JSONResponse({"error": {"message": message, "code": code}}, status, headers)


def cut_off():
    """A reply whose connection closes in the middle."""
    from starlette.responses import StreamingResponse

    async def half():
        yield b'{"choices": ['

    return StreamingResponse(half(), headers={"content-length": "1000", "content-type": "application/json"})


def dripping():
    """A reply that never ends, and never stops either."""
    from starlette.responses import StreamingResponse

    async def drops():
        for _ in range(30):
            yield b" "
            await asyncio.sleep(0.1)

    return StreamingResponse(drops(), media_type="application/json")


@contextmanager
def running():
    """The server at work in a thread; `.url` is its base URL."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Route

    server = Server()
    routes = [Route(f"/v1/{path}", server.handle, methods=["POST"]) for path in ("chat/completions", "completions")]
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        server.url = f"http://127.0.0.1:{place.getsockname()[1]}/v1"
        uvicorn_server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level=60, lifespan="off", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=uvicorn_server.run, kwargs={"sockets": [place]}, daemon=True)
        thread.start()
        give_up = time.monotonic() + 10
        while not uvicorn_server.started and time.monotonic() < give_up:
            time.sleep(0.01)
        assert uvicorn_server.started
        try:
            yield server
        finally:
            uvicorn_server.should_exit = True
            thread.join(timeout=10)
