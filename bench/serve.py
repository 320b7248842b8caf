"""Stress test of `gradus serve`: many requests of many clients, some of which disconnect, send malformed requests or read slowly.

python bench/serve.py [--requests 10000] [--clients 64] [--model PATH] [--command target/release/gradus]

Of every 10 requests about 6 are ordinary, 1 is streamed, 1 is cancelled by the client, 1 is malformed, 1 is read slowly. Answers with
greedy decoding must equal those to the same request alone. The test fails if an answer or a status is wrong, if the server ends or hangs,
or if its memory grows. Without a model, a small one is written, which needs NumPy.
"""

import argparse
import collections
import json
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).parents[1]
PROMPTS = ["hello", "hello world", "The capital of France is", "Once upon a time", "1 2 3 4 5", "x", "A text about " * 4, "zürich"]
MALFORMED = [
    (b"nonsense\r\n\r\n", 400),
    (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n", 400),
    (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{\"prompt\"", 400),
    (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"prompt\":3}", 400),
    (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n", 413),
    (b"GET /" + b"x" * 20000, 431),
    (b"GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
]


class Client:
    """A connection that is reused if possible."""

    def __init__(self, port):
        self.port, self.socket = port, None

    def connect(self):
        self.close()
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=120)

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None

    def send(self, body):
        text = json.dumps(body).encode()
        head = f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
        if self.socket is None:
            self.connect()
        self.socket.sendall(head.encode() + text)

    def read(self, pause=0.0):
        """Reads a response; returns its status and its body, with chunks joined. With a pause, reads it in small pieces."""
        file, piece = self.socket.makefile("rb"), 64 if pause else 1 << 16

        def exactly(n):
            out = b""
            while len(out) < n:
                part = file.read(min(piece, n - len(out)))
                if not part:
                    raise ConnectionError("cut")
                out += part
                time.sleep(pause)
            return out

        status = int(file.readline().split(b" ")[1])
        headers = {}
        while (line := file.readline().strip()):
            name, value = line.split(b": ", 1)
            headers[name.lower()] = value
        if headers.get(b"transfer-encoding") == b"chunked":
            body = b""
            while (size := int(file.readline(), 16)):
                body += exactly(size)
                file.readline()
            file.readline()
        else:
            body = exactly(int(headers[b"content-length"]))
        if headers.get(b"connection") == b"close":
            self.close()
        return status, body


def body(prompt, tokens, **more):
    return dict(prompt=prompt, max_tokens=tokens, temperature=0, **more)


def answer_text(status, data, stream):
    """Returns the text of an answer."""
    if not stream:
        return json.loads(data)["choices"][0]["text"]
    events = [e[len("data: "):] for e in data.decode().split("\n\n") if e]
    assert events[-1] == "[DONE]", events[-1]
    return "".join(json.loads(e)["choices"][0]["text"] for e in events[:-1])


def send_requests(port, expected, requests, seed, counts, faults):
    g, client = random.Random(seed), Client(port)
    for _ in range(requests):
        kind = g.choices(["whole", "stream", "abort", "malformed", "slow"], [6, 1, 1, 1, 1])[0]
        prompt, tokens = g.choice(list(expected))
        try:
            if kind == "malformed":
                data, wanted = g.choice(MALFORMED)
                client.connect()
                client.socket.sendall(data)
                status, answer = client.read()
                client.close()
                if status != wanted or "error" not in json.loads(answer):
                    faults.append(f"{data[:60]}: {status}, not {wanted}")
            elif kind == "abort":
                client.connect()
                client.send(body(prompt, 200, stream=g.random() < 0.5))
                client.socket.settimeout(g.random() * 0.2 + 0.001)
                try:
                    client.socket.recv(100)
                except TimeoutError:
                    pass
                client.close()
            else:
                stream = kind != "whole"
                client.send(body(prompt, tokens, stream=stream))
                status, answer = client.read(pause=0.002 if kind == "slow" else 0)
                if status == 429:
                    kind = "refused"
                    time.sleep(0.05)
                elif status != 200:
                    faults.append(f"{prompt!r}: status {status}: {answer[:200]}")
                elif (found := answer_text(status, answer, stream)) != expected[prompt, tokens]:
                    faults.append(f"{prompt!r}: {found!r}, not {expected[prompt, tokens]!r}")
        except (OSError, ValueError, KeyError, AssertionError) as e:
            faults.append(f"{kind}: {type(e).__name__}: {e}")
            client.close()
        counts[kind] += 1
    client.close()


def resident_mib(pid):
    """Returns the resident memory of a process, in MiB."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the server has ended")


def metrics(port):
    client = Client(port)
    client.connect()
    client.socket.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    lines = client.read()[1].decode().splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


def run(port, expected, requests, clients, seed):
    """Runs requests from clients; returns the numbers of each kind and the errors."""
    counts, faults = collections.Counter(), []
    share = [requests // clients + (i < requests % clients) for i in range(clients)]
    threads = [threading.Thread(target=send_requests, args=(port, expected, n, seed + i, counts, faults)) for i, n in enumerate(share)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return counts, faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--model")
    parser.add_argument("--slots", default="8")
    parser.add_argument("--command", default=str(ROOT / "target/release/gradus"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = args.model
        if model is None:
            sys.path.insert(0, str(ROOT / "python/tests"))
            import tiny_model

            model = tiny_model.write_decoder(pathlib.Path(folder) / "tiny", context=512)
        command = [args.command, "serve", str(model), "--port", "0", "--slots", args.slots, "--queue", "256"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            port = int(server.stdout.readline().split("/")[2].split(":")[1])
            expected, client = {}, Client(port)
            for prompt in PROMPTS:
                for tokens in (1, 8, 24):
                    client.send(body(prompt, tokens))
                    expected[prompt, tokens] = answer_text(*client.read(), False)
            client.close()
            # Caches and pools have reached their sizes after a tenth of the requests; later growth is a leak.
            run(port, expected, args.requests // 10, args.clients, 1)
            before, began = resident_mib(server.pid), time.time()
            counts, faults = run(port, expected, args.requests, args.clients, 1000)
            took = time.time() - began
            for _ in range(100):
                m = metrics(port)
                if m["gradus_running"] == m["gradus_waiting"] == "0":
                    break
                time.sleep(0.1)
            else:
                faults.append(f"texts of disconnected clients remain: {m['gradus_running']} run, {m['gradus_waiting']} wait")
            after = resident_mib(server.pid)
            if m["gradus_engine_restarts_total"] != "0":
                faults.append("the engine was restarted")
            server.terminate()
            if server.wait(timeout=60) != 0:
                faults.append(f"exit code {server.returncode}")
        finally:
            server.kill()
        if after > before * 1.1 + 16:
            faults.append(f"memory grew from {before:.0f} to {after:.0f} MiB")
        kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items()))
        print(f"{sum(counts.values())} requests of {args.clients} clients in {took:.1f} s ({kinds})")
        print(f"resident memory {before:.1f} MiB before, {after:.1f} MiB after; {m['gradus_cancelled_total']} cancelled, "
              f"{m['gradus_generated_tokens_total']} tokens")
        print(f"{len(faults)} faults")
        for fault in faults[:20]:
            print(" ", fault)
        sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
