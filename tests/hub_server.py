"""A small Hugging Face Hub for tests, on loopback: dataset repositories in memory, and the endpoints that the real client calls for them.

It creates repositories and keeps their settings, takes commits (small files in the commit, Parquet by LFS) on the head that they name, opens and
merges pull requests, lists and serves files; and it misbehaves where `script` tells it to, by the kind of a call: a status is answered instead, "cut"
closes the connection before the call is done, "lost" after it was done and before its answer, "half" in the middle of the answer, "html" answers as a
proxy's login page does.
"""

import asyncio
import base64
import hashlib
import json
import socket
import threading
import time
from collections import Counter, defaultdict
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import parse_qs, unquote

TOKEN = "hf_" + "loopbackloopbackloopback"
DATE = "2026-11-01T00:00:00.000Z"


class File(NamedTuple):
    content: bytes
    lfs: bool

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def blob(self) -> str:
        return hashlib.sha1(b"blob %d\0" % len(self.content) + self.content).hexdigest()

    @property
    def etag(self) -> str:
        return self.sha256 if self.lfs else self.blob


class Repo:
    """`refs` name commits, a commit is its files by path. A pull request's ref is refs/pr/N; `pulls` are in the order of their numbers.

    `seen` holds (private, gated) as they were at each commit.
    """

    def __init__(self, private: bool = False):
        self.commits, self.refs, self.pulls = {}, {}, []
        self.private, self.gated, self.seen = private, False, []
        self.commit("main", {})

    def commit(self, ref: str, files: dict[str, File]) -> str:
        content = sorted((path, file.blob) for path, file in files.items())
        sha = hashlib.sha1(repr((len(self.commits), content)).encode()).hexdigest()
        self.commits[sha], self.refs[ref] = files, sha
        self.seen.append((self.private, self.gated))
        return sha

    def files(self, revision: str) -> dict[str, File] | None:
        return self.commits.get(self.refs.get(revision, revision))

    def write(self, path: str, content: bytes, lfs: bool = False) -> None:
        """What a maintainer does in the browser."""
        self.commit("main", {**self.files("main"), path: File(content, lfs)})


class Answer(Exception):
    """A refusal, with the Hub's own code for it."""

    def __init__(self, status: int, code: str = "", headers: dict | None = None):
        self.status, self.headers = status, {**({"X-Error-Code": code} if code else {}), **(headers or {})}


class Server:
    def __init__(self):
        self.url, self.uvicorn = "", None
        self.reset()

    def reset(self):
        self.repos: dict[str, Repo] = {}
        self.objects: dict[str, bytes] = {}  # of LFS, by sha256
        self.script: dict[str, list] = defaultdict(list)  # by kind of call, what becomes of the next ones; None: as it should be
        self.calls, self.tokens, self.sent = Counter(), set(), []
        self.meet, self.arrived, self.under_way = 0, 0, set()  # a commit takes until so many have arrived

    # --- every call ---

    async def __call__(self, scope, receive, send):
        from starlette.requests import Request
        from starlette.responses import Response

        request = Request(scope, receive)
        parts = [unquote(part) for part in scope["raw_path"].decode().strip("/").split("/")]
        query = {key: value[0] for key, value in parse_qs(scope["query_string"].decode()).items()}
        kind, handle = self.route(request.method, parts)
        self.calls[kind] += 1
        self.tokens.add(request.headers.get("authorization"))
        trouble = self.script[kind].pop(0) if self.script[kind] else None
        try:
            if trouble == "cut":
                return self.cut(scope)
            if trouble == "html":
                return await Response("<html>log in</html>", media_type="text/html")(scope, receive, send)
            if isinstance(trouble, int):
                raise Answer(trouble, headers={"Retry-After": "0"} if trouble == 429 else {})
            body = await request.body()
            self.sent.append(body)
            response = await handle(parts, query, body, request)
        except Answer as answer:
            response = Response(status_code=answer.status, headers=answer.headers)
        if trouble == "lost":
            return self.cut(scope)
        if trouble == "half":
            return await self.half(scope, send, response)
        await response(scope, receive, send)

    def cut(self, scope):
        """Closes the connection as a broken network does, with nothing said."""
        for protocol in list(self.uvicorn.server_state.connections):
            if protocol.client == tuple(scope["client"]):
                protocol.transport.abort()

    async def half(self, scope, send, response):
        await send({"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers})
        await send({"type": "http.response.body", "body": response.body[: len(response.body) // 2], "more_body": True})
        await asyncio.sleep(0.05)
        self.cut(scope)

    def route(self, method: str, parts: list[str]):
        if parts[:1] == ["lfs"]:
            return ("lfs-put", self.put) if method == "PUT" else ("lfs-verify", self.verify)
        if parts[-3:] == ["lfs", "objects", "batch"]:
            return "lfs-batch", self.batch
        if parts == ["api", "whoami-v2"]:
            return "whoami", self.whoami
        if parts == ["api", "repos", "create"]:
            return "create", self.create
        if parts == ["api", "validate-yaml"]:
            return "validate-yaml", self.validate
        if parts[:2] == ["api", "datasets"]:
            kind = parts[4] if len(parts) > 4 else "revision"
            if kind == "discussions":
                kind = parts[6] if len(parts) > 6 else "discussion" if len(parts) > 5 else "discussions"
            handlers = {
                "revision": self.info,
                "tree": self.tree,
                "paths-info": self.paths,
                "preupload": self.preupload,
                "commit": self.commit,
                "discussions": self.discussions,
                "discussion": self.discussion,
                "merge": self.merge,
                "status": self.status,
                "settings": self.settings,
            }
            return ("info" if kind == "revision" else kind), handlers[kind]
        assert parts[0] == "datasets", (method, parts)
        assert parts[3] == "resolve", (method, parts)
        return "head" if method == "HEAD" else "resolve", self.resolve

    def repo(self, parts: list[str]) -> Repo:
        at = parts.index("datasets") + 1
        name = f"{parts[at]}/{parts[at + 1].removesuffix('.git')}"
        if name not in self.repos:
            raise Answer(404, "RepoNotFound")
        return self.repos[name]

    def files(self, repo: Repo, revision: str) -> dict[str, File]:
        if (found := repo.files(revision)) is None:
            raise Answer(404, "RevisionNotFound")
        return found

    def check_token(self, request) -> None:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            raise Answer(401 if request.headers.get("authorization") is None else 403)

    # --- repositories and files ---

    async def whoami(self, parts, query, body, request):
        self.check_token(request)
        return as_json({"name": "tester", "type": "user", "orgs": []})

    async def validate(self, parts, query, body, request):
        return as_json({"errors": [], "warnings": []})

    async def create(self, parts, query, body, request):
        self.check_token(request)
        asked = json.loads(body)
        name = f"{asked.get('organization') or 'tester'}/{asked['name']}"
        if name in self.repos:
            raise Answer(409)
        self.repos[name] = Repo(asked.get("visibility") == "private")
        return as_json({"url": f"{self.url}/datasets/{name}", "name": name, "id": name})

    async def settings(self, parts, query, body, request):
        self.check_token(request)
        repo, asked = self.repo(parts), json.loads(body)
        repo.gated = asked.get("gated", repo.gated)
        repo.private = asked["visibility"] == "private" if "visibility" in asked else repo.private
        return as_json({})

    async def info(self, parts, query, body, request):
        repo, revision = self.repo(parts), parts[5] if len(parts) > 5 else "main"
        files = self.files(repo, revision)
        sha = repo.refs.get(revision, revision)
        told = {"_id": sha[:24], "id": "/".join(parts[2:4]), "sha": sha, "tags": [], "private": repo.private, "gated": repo.gated}
        return as_json({**told, "siblings": [{"rfilename": path} for path in files]})

    async def tree(self, parts, query, body, request):
        files = self.files(self.repo(parts), parts[5])
        return as_json([described(path, file) for path, file in sorted(files.items())])

    async def paths(self, parts, query, body, request):
        files = self.files(self.repo(parts), parts[5])
        return as_json([described(path, files[path]) for path in parse_qs(body.decode())["paths"] if path in files])

    async def resolve(self, parts, query, body, request):
        from starlette.responses import Response

        repo, revision, path = self.repo(parts), parts[4], "/".join(parts[5:])
        files = self.files(repo, revision)
        if path not in files:
            raise Answer(404, "EntryNotFound")
        content = files[path].content
        headers = {"ETag": f'"{files[path].etag}"', "X-Repo-Commit": repo.refs.get(revision, revision), "Accept-Ranges": "bytes"}
        if asked := request.headers.get("range", "").removeprefix("bytes="):
            start = int(asked.partition("-")[0])
            headers |= {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
            return Response(content[start:], 206, headers)
        return Response(content, 200, headers)

    # --- commits ---

    async def preupload(self, parts, query, body, request):
        self.check_token(request)
        files = self.files(self.repo(parts), parts[5])
        asked = [one["path"] for one in json.loads(body)["files"]]
        modes = {path: "lfs" if path.endswith(".parquet") else "regular" for path in asked}
        told = [{"path": path, "uploadMode": modes[path], "shouldIgnore": False} for path in asked]
        return as_json({"files": [one | ({"oid": files[one["path"]].etag} if one["path"] in files else {}) for one in told]})

    async def batch(self, parts, query, body, request):
        self.check_token(request)
        objects = json.loads(body)["objects"]
        return as_json({"transfer": "basic", "objects": [{**one, **self.actions(one["oid"])} for one in objects]})

    def actions(self, oid: str) -> dict:
        if oid in self.objects:
            return {}
        return {"actions": {"upload": {"href": f"{self.url}/lfs/{oid}?signed=secret"}, "verify": {"href": f"{self.url}/lfs/verify"}}}

    async def put(self, parts, query, body, request):
        assert hashlib.sha256(body).hexdigest() == parts[1]
        self.objects[parts[1]] = body
        return as_json({})

    async def verify(self, parts, query, body, request):
        asked = json.loads(body)
        if len(self.objects.get(asked["oid"], b"")) != asked["size"]:
            raise Answer(404)
        return as_json({})

    async def commit(self, parts, query, body, request):
        self.check_token(request)
        repo, name = self.repo(parts), "/".join(parts[2:4])
        self.arrived += 1
        if name in self.under_way:
            raise Answer(412)
        self.under_way.add(name)
        try:
            give_up = time.monotonic() + 60
            while self.arrived < self.meet and time.monotonic() < give_up:
                await asyncio.sleep(0.001)
        finally:
            self.under_way.discard(name)
        lines = [json.loads(line) for line in body.splitlines()]
        header = lines[0]["value"]
        if header.get("parentCommit") not in (None, repo.refs.get(parts[5])):
            raise Answer(412)
        gone = {line["value"]["path"] for line in lines if line["key"] == "deletedFile"}
        added = dict(self.added(line) for line in lines[1:] if line["key"] != "deletedFile")
        files = {**{path: file for path, file in self.files(repo, parts[5]).items() if path not in gone}, **added}
        if query.get("create_pr") != "1":
            return as_json({"commitUrl": f"{self.url}/datasets/{name}/commit/x", "commitOid": repo.commit(parts[5], files)})
        number = len(repo.pulls) + 1
        sha = repo.commit(f"refs/pr/{number}", files)
        repo.pulls.append({"title": header["summary"], "description": header.get("description", ""), "status": "open", "added": added})
        url = f"{self.url}/datasets/{name}/discussions/{number}"
        return as_json({"commitUrl": f"{self.url}/datasets/{name}/commit/{sha}", "commitOid": sha, "pullRequestUrl": url})

    def added(self, line: dict) -> tuple[str, File]:
        value = line["value"]
        if line["key"] == "lfsFile":
            return value["path"], File(self.objects[value["oid"]], True)
        assert line["key"] == "file", line["key"]
        return value["path"], File(base64.b64decode(value["content"]), False)

    # --- pull requests ---

    async def discussions(self, parts, query, body, request):
        name = "/".join(parts[2:4])
        page, size = int(query.get("p", 0)), 2
        told = [self.told(name, number, one) for number, one in enumerate(self.repo(parts).pulls, 1)]
        shown = told[page * size : (page + 1) * size]
        return as_json({"discussions": shown, "count": len(told), "start": page * size})

    def told(self, name: str, number: int, pull: dict) -> dict:
        about = {"title": pull["title"], "num": number, "status": pull["status"], "createdAt": DATE, "author": {"name": "tester"}}
        return {**about, "isPullRequest": True, "repo": {"name": name, "type": "dataset"}}

    async def discussion(self, parts, query, body, request):
        pull = self.repo(parts).pulls[int(parts[5]) - 1]
        told = self.told("/".join(parts[2:4]), int(parts[5]), pull)
        return as_json({**told, "changes": {"base": "main"}, "filesWithConflicts": [], "events": []})

    async def merge(self, parts, query, body, request):
        self.check_token(request)
        repo, number = self.repo(parts), int(parts[5])
        pull = repo.pulls[number - 1]
        repo.commit("main", {**repo.files("main"), **pull["added"]})
        pull["status"] = "merged"
        return as_json({"newStatus": "merged"})

    async def status(self, parts, query, body, request):
        self.check_token(request)
        pull = self.repo(parts).pulls[int(parts[5]) - 1]
        pull["status"] = json.loads(body)["status"]
        event = {"id": "1", "type": "status-change", "createdAt": DATE, "author": {"name": "tester"}, "data": {"status": pull["status"]}}
        return as_json({"newStatus": event})


def described(path: str, file: File) -> dict:
    lfs = {"lfs": {"oid": file.sha256, "size": len(file.content), "pointerSize": 130}} if file.lfs else {}
    return {"type": "file", "path": path, "size": len(file.content), "oid": file.blob, **lfs}


def as_json(value):
    from starlette.responses import JSONResponse

    return JSONResponse(value)


def use(server: Server, monkeypatch, cache) -> None:
    """Lets the client of this process talk to the server and to no other, at once where it would wait for another try, with a cache of its own."""
    from huggingface_hub import constants

    from sghc.leaderboard import hub

    found = {"ENDPOINT": server.url, "HUGGINGFACE_CO_URL_TEMPLATE": server.url + "/{repo_id}/resolve/{revision}/{filename}"}
    for name, value in {**found, "HF_HUB_OFFLINE": False, "HF_HUB_DISABLE_XET": True, "HF_HUB_CACHE": str(cache)}.items():
        monkeypatch.setattr(constants, name, value)
    monkeypatch.setattr(hub, "WAITS", (0, 0, 0, 0))
    monkeypatch.setattr(time, "sleep", lambda seconds, sleep=time.sleep: sleep(min(seconds, 0.01)))  # the client's own waits too
    monkeypatch.setenv("HF_TOKEN", TOKEN)


@contextmanager
def running():
    """The server at work in a thread; `.url` is its address."""
    import uvicorn

    server = Server()
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        server.url = f"http://127.0.0.1:{place.getsockname()[1]}"
        server.uvicorn = uvicorn.Server(uvicorn.Config(server, log_level=60, lifespan="off", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.uvicorn.run, kwargs={"sockets": [place]}, daemon=True)
        thread.start()
        give_up = time.monotonic() + 10
        while not server.uvicorn.started and time.monotonic() < give_up:
            time.sleep(0.01)
        assert server.uvicorn.started
        try:
            yield server
        finally:
            server.uvicorn.should_exit = True
            thread.join(timeout=10)
