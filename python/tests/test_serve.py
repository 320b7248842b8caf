"""Tests the server with OpenAI's client: conversations, streams, texts, vectors, models, JSON by schemas, errors."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

import tiny_model
from oracle import needs, peer

jsonschema, openai = peer("jsonschema"), peer("openai")
pytestmark = needs("jsonschema", "openai")

ROOT = pathlib.Path(__file__).parents[2]
#: The path of the command; `cargo xtask python` builds it and sets the variable.
COMMAND = os.environ.get("GRADUS_COMMAND", str(ROOT / "target/debug/gradus"))
#: Forbids the token that ends a text.
NO_END = {"0": -100}
HELLO = [{"role": "user", "content": "hello"}]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    base = tmp_path_factory.mktemp("serve")
    return tiny_model.write_decoder(base / "tiny", context=256), tiny_model.write_encoder(base / "encoder")


@pytest.fixture(scope="module")
def client(folders):
    command = [COMMAND, "serve", folders[0], "--embeddings", folders[1], "--port", "0", "--key", "secret", "--slots", "3"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline()
        address = line.split(" ")[0]
        assert address.endswith("/v1"), line
        with openai.OpenAI(base_url=address, api_key="secret", max_retries=0, timeout=60) as client:
            yield client
    finally:
        server.terminate()
        assert server.wait(timeout=60) == 0


def generated(folder, *options):
    """Returns the text that the command generates without a server."""
    done = subprocess.run([COMMAND, "generate", folder, *options], capture_output=True, check=True)
    return done.stdout.decode()[:-1]


def test_models_are_listed(client):
    assert [m.id for m in client.models.list()] == ["tiny", "encoder"]
    assert client.models.retrieve("tiny").owned_by == "gradus"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("other")


def test_texts_are_those_of_the_command(client, folders):
    done = client.completions.create(model="tiny", prompt="hello", max_tokens=10, temperature=0)
    assert done.choices[0].text == generated(folders[0], "hello", "--tokens", "10")
    assert done.usage.prompt_tokens == 5 and done.usage.total_tokens == 5 + done.usage.completion_tokens
    settings = dict(model="tiny", prompt="hello", max_tokens=10, temperature=1.5, top_p=0.9, presence_penalty=0.5, seed=3)
    right = generated(folders[0], "hello", "--tokens", "10", "--temperature", "1.5", "--top-p", "0.9", "--presence-penalty",
                      "0.5", "--seed", "3")
    assert client.completions.create(**settings).choices[0].text == right
    pieces = client.completions.create(**settings, stream=True)
    assert "".join(p.choices[0].text for p in pieces) == right


def test_conversations_stream_as_they_answer(client):
    settings = dict(model="tiny", messages=HELLO, temperature=0, max_completion_tokens=12, logit_bias=NO_END)
    done = client.chat.completions.create(**settings, logprobs=True, top_logprobs=3)
    text = done.choices[0].message.content
    assert done.choices[0].finish_reason == "length" and done.usage.completion_tokens == 12
    tokens = done.choices[0].logprobs.content
    assert len(tokens) == 12 and all(len(t.top_logprobs) == 3 for t in tokens)
    assert all(t.logprob <= t.top_logprobs[0].logprob <= 0 for t in tokens)
    chunks = list(client.chat.completions.create(**settings, stream=True, stream_options={"include_usage": True}))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == text
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].usage == done.usage and all(c.usage is None for c in chunks[:-1])
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "length"
    stop = text[3:5]
    ended = client.chat.completions.create(**settings, stop=[stop])
    assert ended.choices[0].message.content == text[:text.index(stop)] and ended.choices[0].finish_reason == "stop"
    several = client.chat.completions.create(**dict(settings, temperature=1.5), n=3, seed=1)
    assert [c.index for c in several.choices] == [0, 1, 2] and several.usage.completion_tokens == 36
    assert len({c.message.content for c in several.choices}) > 1


SCHEMA = {
    "type": "object",
    "$defs": {"shape": {"anyOf": [{"enum": ["round", "square"]}, {"type": "null"}]}},
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 8},
        "sizes": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 2},
        "count": {"type": "integer", "minimum": -3, "maximum": 12},
        "shape": {"$ref": "#/$defs/shape"},
        "done": {"type": "boolean"},
    },
    "required": ["title", "sizes", "count", "shape"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("seed", range(8))
def test_json_validates(client, seed):
    form = {"type": "json_schema", "json_schema": {"name": "thing", "strict": True, "schema": SCHEMA}}
    done = client.chat.completions.create(model="tiny", messages=HELLO, temperature=2, seed=seed, max_tokens=150, response_format=form)
    value = json.loads(done.choices[0].message.content)
    jsonschema.validate(value, SCHEMA)
    assert [k for k in value if k != "done"] == SCHEMA["required"]
    assert done.choices[0].finish_reason == "stop"
    done = client.chat.completions.create(model="tiny", messages=HELLO, temperature=2, seed=seed, max_tokens=80,
                                          response_format={"type": "json_object"})
    assert isinstance(json.loads(done.choices[0].message.content), dict)


def test_vectors_are_those_of_the_command(client, folders):
    done = subprocess.run([COMMAND, "embed", folders[1], "one", "two"], capture_output=True, check=True)
    right = [json.loads(line) for line in done.stdout.splitlines()]
    for form in ("float", "base64", openai.NOT_GIVEN):
        found = client.embeddings.create(model="encoder", input=["one", "two"], encoding_format=form)
        if form != "base64":
            np.testing.assert_array_equal(np.float32([d.embedding for d in found.data]), np.float32(right))
        assert found.usage.prompt_tokens == 6
    np.testing.assert_allclose(np.linalg.norm(right, axis=1), 1, rtol=1e-6)


def test_errors_are_the_clients_exceptions(client):
    def create(**other):
        return client.chat.completions.create(**{"model": "tiny", "messages": HELLO, "max_tokens": 1, **other})

    with pytest.raises(openai.NotFoundError, match="the model `other` is not available") as e:
        create(model="other")
    assert e.value.code == "model_not_found" and e.value.param == "model"
    with pytest.raises(openai.BadRequestError, match="`temperature` must be") as e:
        create(temperature=9)
    assert e.value.param == "temperature"
    with pytest.raises(openai.BadRequestError, match="the context of the model is 256") as e:
        create(messages=[{"role": "user", "content": "x" * 300}])
    assert e.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError, match="`pattern` is not supported"):
        schema = {"type": "string", "pattern": "x"}
        create(response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": schema}})
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="wrong").models.list()
    # A client that disconnects during a stream does not disturb other requests.
    stream = create(max_tokens=200, stream=True, logit_bias=NO_END)
    next(iter(stream))
    stream.close()
    assert create().usage.completion_tokens <= 1
