"""OpenAI-compatible endpoints: a server on loopback answers, stumbles and fails; no failure becomes an answer or tells a secret."""

import asyncio
import json
import logging
import math
import socket
import time

import endpoint_server as tea
import pytest

from sghc.errors import InputError
from sghc.models import asking, reader
from sghc.models.endpoint import EndpointDetector

pytest.importorskip("openai")
pytest.importorskip("uvicorn")

KEY = "sk-test-tealeaves"
TEXTS = [f"tea {number}" for number in range(24)]


@pytest.fixture(scope="module")
def running():
    with tea.running() as server:
        yield server


@pytest.fixture
def server(running, monkeypatch):
    """The server as new; short waits between retries; no settings of the user's own."""
    import openai._base_client as base

    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "OPENAI_CUSTOM_HEADERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(base, "INITIAL_RETRY_DELAY", 0.01)
    monkeypatch.setattr(base, "MAX_RETRY_DELAY", 0.02)
    running.reset()
    return running


def detector(server, **changes) -> EndpointDetector:
    return EndpointDetector(**{"model": tea.MODEL, "base_url": server.url, "max_retries": 2, "timeout": 5.0} | changes)


def predictions(answers):
    return [answer.prediction for answer in answers]


EXPECTED = [number % 2 for number in range(24)]


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_answers_come_in_the_order_of_the_texts(server, api):
    server.delay = 0.05
    answers = detector(server, api=api).answer(TEXTS)
    assert predictions(answers) == EXPECTED
    assert [answer.output for answer in answers] == [str(code) for code in EXPECTED]
    assert not any(answer.error for answer in answers)
    body = server.bodies[-1]
    assert body["temperature"] == 0
    assert body["max_tokens"] == {"chat": 16, "completions": 1}[api]
    asked = body["messages"][0] if api == "chat" else body["prompt"]
    assert asked in ([{"role": "user", "content": asking.PAPER(text)} for text in TEXTS] if api == "chat" else list(map(asking.PAPER, TEXTS)))


def test_no_more_calls_at_a_time_than_asked_for(server):
    server.delay = 0.05
    asker = detector(server, concurrency=3)
    asker.answer(TEXTS)
    assert server.peak == 3
    assert asker.batch_size >= 3


def test_no_text_no_call(server):
    assert detector(server).answer([]) == []
    assert not server.bodies


@pytest.mark.parametrize(
    "stumbles",
    [
        [lambda: tea.failed(429, {"retry-after": "0.05"})],
        [lambda: tea.failed(500), lambda: tea.failed(503)],
        [tea.cut_off],
    ],
    ids=["429", "5xx", "connection cut"],
)
def test_what_passes_is_retried(server, stumbles):
    server.script["tea 3"] = [*stumbles, lambda: tea.said("1")]
    answers = detector(server).answer(TEXTS)
    assert predictions(answers) == EXPECTED
    assert server.calls["tea 3"] == len(stumbles) + 1


def test_retry_after_is_heeded(server):
    server.script["tea 3"] = [lambda: tea.failed(429, {"retry-after": "0.5"}), lambda: tea.said("1")]
    start = time.monotonic()
    assert predictions(detector(server).answer(["tea 3"])) == [1]
    assert time.monotonic() - start >= 0.5


async def never():
    await asyncio.sleep(1.5)
    return tea.said("1")


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (lambda: tea.failed(500), "InternalServerError, HTTP 500"),
        (lambda: tea.failed(429), "RateLimitError, HTTP 429"),
        (lambda: tea.failed(400, message="about tea 3"), "BadRequestError, HTTP 400"),  # a content filter's, say
        (lambda: tea.failed(403), "PermissionDeniedError, HTTP 403"),
        (tea.cut_off, "APIConnectionError, RemoteProtocolError"),
        (never, "APITimeoutError"),
        (lambda: raw("{not json"), "JSONDecodeError"),
        (lambda: raw("[" * 100_000), "RecursionError"),
        (lambda: raw('{"choices": []}'), "ValueError"),
        (lambda: raw('{"error": {"message": "about tea 3"}}'), "ValueError"),
        (lambda: raw('{"choices": [{"message": {"content": 1}}]}'), "ValueError"),
        (lambda: raw("null"), "ValueError"),
    ],
)
def test_a_call_that_fails_for_good_is_missing_and_the_others_are_answered(server, reply, told):
    server.script["tea 3"] = [reply]
    answers = detector(server, timeout=0.4, max_retries=1).answer(TEXTS[:6])
    assert predictions(answers) == [0, 1, 0, None, 0, 1]
    failure = answers[3]
    assert told in failure.error
    assert (failure.output, failure.score, failure.mass) == (None, None, None)
    assert not any(secret in failure.error for secret in ("tea", KEY, "127.0.0.1", "Bearer"))


def test_a_server_that_sends_a_byte_now_and_then_is_given_up(server, monkeypatch):
    monkeypatch.setattr("sghc.models.endpoint.LONGEST_WAIT", 0)
    server.script["tea 3"] = [tea.dripping]
    answers = detector(server, timeout=0.5, max_retries=0).answer(TEXTS[:6])
    assert predictions(answers) == [0, 1, 0, None, 0, 1]
    assert answers[3].error == "the call failed (TimeoutError, CancelledError)"


def raw(body: str):
    from starlette.responses import Response

    return Response(body, media_type="application/json")


@pytest.mark.parametrize(
    ("content", "output", "prediction"),
    [
        ("", "", None),
        (None, "", None),
        ("Label: 1 \n", "Label: 1 \n", 1),
        ("no idea", "no idea", None),
        (asking.PAPER("tea 1"), "", None),  # the prompt said again
        ("tea 1", "tea 1", None),
        (asking.PAPER("tea 1") + "0", "0", 0),
        ("\ud83d", "?", None),  # half of a character: no file could hold it
    ],
)
def test_outputs_are_kept_as_they_came_and_read_by_the_last_character(server, content, output, prediction):
    body = json.dumps({"choices": [{"message": {"content": content}}]})
    server.script["tea 1"] = [lambda: raw(body)]
    (answer,) = detector(server).answer(["tea 1"])
    assert (answer.output, answer.prediction, answer.error) == (output, prediction, None)


def test_a_refusal_is_kept_and_rejected(server):
    server.script["tea 1"] = [lambda: tea.said(None, refusal="I would rather not, see rule 1")]
    (answer,) = detector(server).answer(["tea 1"])
    assert (answer.output, answer.prediction) == ("I would rather not, see rule 1", None)


def test_answers_in_words(server):
    server.script |= {"tea 1": [lambda: tea.said("Unsafe.\nS1")], "tea 2": [lambda: tea.said("safe")], "tea 3": [lambda: tea.said("1")]}
    words = reader.answer_words("hateful=unsafe,non-hateful=safe")
    asker = detector(server, words=words, ask=lambda text: text, prompt_name="bare")
    assert predictions(asker.answer(TEXTS[1:4])) == [1, 0, None]
    assert "logprobs" not in server.bodies[-1]
    assert asker.identity["reading"] == words


def chat_logprobs(*tokens):
    return {"content": [{"token": token, "top_logprobs": [{"token": t, "logprob": p} for t, p in likeliest]} for token, likeliest in tokens]}


def completion_logprobs(*tokens):
    return {"tokens": [token for token, _ in tokens], "top_logprobs": [dict(likeliest) for _, likeliest in tokens]}


BOTH = [("1", math.log(0.5)), (" 1", math.log(0.1)), ("0", math.log(0.2)), ("x", math.log(0.1))]


@pytest.mark.parametrize(("api", "make"), [("chat", chat_logprobs), ("completions", completion_logprobs)])
def test_score_and_mass_from_the_likeliest_tokens(server, api, make):
    logprobs = make(("x", [("x", 0.0)]), ("1", BOTH), ("</s>", [("</s>", 0.0)]))
    server.script["tea 1"] = [lambda: tea.said("x1", api == "chat", logprobs)]
    (answer,) = detector(server, api=api).answer(["tea 1"])
    assert answer.prediction == 1
    assert answer.score == pytest.approx(0.75)
    assert answer.mass == pytest.approx(0.8)


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        7,
        {},
        {"content": None},
        {"content": [{"token": "1"}]},
        chat_logprobs(("1", [("1", -0.1), ("x", -3.0)])),  # one label only
        chat_logprobs(("1", [("1", -9999.0), ("0", -9999.0)])),
        chat_logprobs(("1", [("1", "much"), ("0", None)])),
        chat_logprobs(("1", [("1", 1e9), ("0", 0.0)])),
        chat_logprobs(("0", BOTH)),  # another token than the label that was read
    ],
)
def test_no_score_without_both_labels(server, logprobs):
    server.script["tea 1"] = [lambda: tea.said("1", True, logprobs)]
    (answer,) = detector(server).answer(["tea 1"])
    assert (answer.prediction, answer.score, answer.mass) == (1, None, None)


@pytest.mark.parametrize(
    ("refused", "sent"),
    [
        ({"logprobs"}, {"max_tokens", "seed"}),
        ({"logprobs", "seed"}, {"max_tokens"}),
        ({"logprobs", "seed", "max_tokens"}, {"max_completion_tokens"}),
    ],
)
def test_what_a_server_does_not_take_is_left_out(server, refused, sent):
    server.refused = refused
    asker = detector(server)
    before = dict(asker.identity)
    assert predictions(asker.answer(TEXTS)) == EXPECTED
    assert set(server.bodies[-1]) == {"model", "messages", "temperature"} | sent
    assert asker.identity == before


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"key": "another"}, "OPENAI_API_KEY.*HTTP 401"),
        ({"refused": {"temperature"}}, "temperature 0.*HTTP 400"),
        ({"script": {"It is raining.": [lambda: tea.failed(403)]}}, "HTTP 403"),
        ({"script": {"It is raining.": [lambda: tea.failed(429, code="insufficient_quota")]}}, "quota.*HTTP 429"),
        ({"script": {"It is raining.": [lambda: raw("<html>")]}}, "chat API.*JSONDecodeError"),
    ],
)
def test_what_cannot_mend_is_an_input_error_before_any_case(server, change, expected):
    vars(server).update(change)
    with pytest.raises(InputError, match=expected) as caught:
        detector(server).answer(TEXTS)
    assert KEY not in str(caught.value)
    assert caught.value.__suppress_context__
    assert not server.calls.keys() & set(TEXTS)


def test_an_unknown_model_and_a_wrong_path(server):
    with pytest.raises(InputError, match=r"'coffee'.*HTTP 404"):
        detector(server, model="coffee").answer(TEXTS)
    with pytest.raises(InputError, match="http://localhost:8000/v1"):
        detector(server, base_url=server.url.removesuffix("/v1")).answer(TEXTS)


def test_nothing_listens(server):
    with socket.socket() as place:  # bound and not listening: nobody else can take the port
        place.bind(("127.0.0.1", 0))
        with pytest.raises(InputError, match=r"127\.0\.0\.1.*nothing answers there.*ConnectError"):
            detector(server, base_url=f"http://127.0.0.1:{place.getsockname()[1]}/v1").answer(TEXTS)


def test_a_key_withdrawn_on_the_way_ends_the_run_and_loses_no_answer(server):
    asker = detector(server)
    assert predictions(asker.answer(TEXTS)) == EXPECTED
    server.key = "another"
    assert {answer.error for answer in asker.answer(TEXTS)} == {"the call failed (AuthenticationError, HTTP 401)"}
    with pytest.raises(InputError, match="401"):
        asker.answer(TEXTS)


def test_cases_that_a_filter_refuses_do_not_end_the_run(server):
    server.script |= {text: [lambda: tea.failed(400)] for text in TEXTS[:4]}
    asker = detector(server)
    for _ in range(2):
        assert all(answer.error for answer in asker.answer(TEXTS[:4]))
    assert predictions(asker.answer(TEXTS[4:])) == EXPECTED[4:]


def test_a_server_in_trouble_at_the_start_is_no_input_error(server):
    server.script |= {text: [lambda: tea.failed(503)] for text in ["It is raining.", "tea 0"]}
    assert predictions(detector(server, max_retries=0).answer(TEXTS[:2])) == [None, 1]


def test_the_key_and_the_query_are_told_nowhere(server, caplog, monkeypatch):
    caplog.set_level(logging.DEBUG)
    server.key = KEY
    server.script["tea 2"] = [lambda: tea.failed(500, message=KEY)]
    asker = detector(server, base_url=f"{server.url}/?token=oolong#top")
    answers = asker.answer(TEXTS[:4])
    assert predictions(answers) == [0, 1, None, 1]
    assert set(server.queries) == {"token=oolong"}
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}-wrong")
    for _ in range(2):
        try:
            asker.answer(TEXTS[:2])
        except InputError as error:
            caught = error
    told = "\n".join([caplog.text, repr(answers), repr(asker), json.dumps(asker.identity), str(caught), repr(vars(asker)).replace("oolong", "", 1)])
    assert "HTTP Request" in caplog.text
    for secret in (KEY, "oolong", "Bearer", *TEXTS[:4]):
        assert secret not in told
    assert asker.identity["base_url"] == server.url
    assert not logging.getLogger("httpx2").filters


def test_a_key_that_cannot_be_sent_is_refused_without_being_told(server, monkeypatch):
    for key in (f"{KEY}\nX", f"{KEY}’", f"{KEY} {KEY}"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(InputError, match="OPENAI_API_KEY") as caught:
            detector(server).answer(TEXTS)
        assert "tealeaves" not in str(caught.value)


def test_a_server_that_needs_no_key_gets_a_dummy(server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    assert predictions(detector(server).answer(["tea 1"])) == [1]
    assert server.seen == {"Bearer none"}


def test_settings_of_the_environment_that_the_client_refuses(server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "nonsense://me:oolong@127.0.0.1")
    with pytest.raises(InputError, match="environment") as caught:
        detector(server).answer(["tea 1"])
    assert "oolong" not in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"api": "responses"},
        {"model": ""},
        {"max_tokens": 0},
        {"concurrency": 0},
        {"max_retries": -1},
        {"timeout": 0},
        {"timeout": math.nan},
        *({"base_url": url} for url in ("", "localhost", "ftp://a/v1", "http://", "http://a:b/v1", "http://[/v1")),
        {"base_url": "http://me:oolong@localhost/v1"},
        {"base_url": "me:oolong@localhost/v1"},
    ],
)
def test_arguments_out_of_range(changes):
    with pytest.raises(InputError) as caught:
        EndpointDetector(**{"model": tea.MODEL, "base_url": "http://localhost/v1"} | changes)
    assert "oolong" not in str(caught.value)


def test_the_identity_tells_settings_apart():
    plain = EndpointDetector(tea.MODEL, "https://example.com/v1/")
    assert plain.identity == json.loads(json.dumps(plain.identity))
    assert plain.identity["base_url"] == "https://example.com/v1"
    assert (plain.identity["kind"], plain.identity["prompt"]["name"], plain.identity["reading"]) == ("endpoint", "paper", "last-character")
    other = EndpointDetector(tea.MODEL, "https://example.com/v1", ask=lambda text: text)
    assert other.identity["prompt"]["sha256"] != plain.identity["prompt"]["sha256"]
