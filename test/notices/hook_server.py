"""A receiver of webhooks, by Python's own HTTP server: prints a JSON line for each request that it took.

Usage: hook_server.py PORT [SECRET]
What it answers next is told by lines of its standard input: a status such as 204 or 503, or drop (takes it and breaks off).
"""

import hashlib
import hmac
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

port = int(sys.argv[1])
secret = sys.argv[2].encode() if len(sys.argv) > 2 else None
answer = "204"


def is_signed(header, body):
    """As docs/operate/notices.md shows it."""
    if header is None:
        return None
    parts = dict(part.split("=", 1) for part in header.split(","))
    wanted = hmac.new(secret, parts["t"].encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(wanted, parts["sha256"]) and abs(time.time() - int(parts["t"])) < 300


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        signed = is_signed(self.headers["X-Signature"], body) if secret else None
        told = {"id": self.headers["X-Notice-Id"], "signed": signed, "document": json.loads(body)}
        print(json.dumps(told), flush=True)
        if answer == "drop":
            self.connection.close()
            return
        self.send_response(int(answer))
        if answer == "429":
            self.send_header("Retry-After", "120")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(json.dumps({"listening": port}), flush=True)
for line in sys.stdin:
    answer = line.strip()
    print(json.dumps({"now": answer}), flush=True)
