"""A booth monitoring service written from its interface document alone, in another language than the gateway.

It offers what the document states and refuses all that it doesn't oblige a service to take. Standard library only.
One JSON document on the command line says how it is:

  key      the API key that opens it
  booths   the records that GET /api/booths knows; a search finds a booth by its "nameplate", which no answer shows
  shown    names of further fields, beside the document's 19, that a booth shows: "id", "serial_number"
  bare     lists as bare arrays instead of the envelope
  records  provisioning records that are there before anybody posts one, by serial number

The first line on standard output is the port; each further one tells of a request: {"method", "path", "body", "status"}.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qs, unquote, urlsplit

BOOTH_FIELDS = [
    "account_id", "account_name", "facility_id", "created_at", "bay_count", "brand_name", "burner_size", "height",
    "length", "model_number", "motor_size", "width", "plc_program", "plc_program_revision", "firmware_version",
    "last_firmware_update", "last_program_update", "connectivity_status", "last_active_mode",
]  # fmt: skip
SIZE_FIELDS = {"bay_count", "brand_name", "burner_size", "height", "length", "model_number", "motor_size", "width"}
STATUSES = {"IN PROGRESS", "COMPLETE"}

WAY = json.loads(sys.argv[1])
RECORDS = {serial: {"serial_number": serial, **record} for serial, record in WAY.get("records", {}).items()}
LOCK = Lock()


def booth_shown(booth):
    return {name: booth.get(name) for name in BOOTH_FIELDS + WAY.get("shown", [])}


def listed(items):
    if WAY.get("bare", False):
        return items
    return {"data": items, "page": 1, "limit": 50, "pages": 1, "total": len(items)}


def error(status, text):
    return status, {"error": text}


def get_booths(query):
    search = query.get("search", [""])[0]
    hits = [booth for booth in WAY["booths"] if search in booth.get("nameplate", "")]
    return 200, listed([booth_shown(booth) for booth in hits])


def one_booth(identifier, body):
    if "id" not in WAY.get("shown", []):
        return error(404, "no such booth")
    for booth in WAY["booths"]:
        if str(booth.get("id")) == identifier:
            if body is not None and set(body) - SIZE_FIELDS:
                return error(422, "a field that can't be changed")
            booth.update(body or {})
            return 200, booth_shown(booth)
    return error(404, "no such booth")


def get_facility(identifier):
    for booth in WAY["booths"]:
        if booth["facility_id"] == identifier:
            return 200, {"id": identifier, "name": "Facility " + identifier, "tz": "America/Denver", "working_hours": []}
    return error(404, "no such facility")


def post_record(body):
    if set(body) != {"serial_number"}:
        return error(422, "serial_number, and nothing else")
    serial = body["serial_number"]
    if not any(booth.get("nameplate") == serial for booth in WAY["booths"]):
        return error(404, "no such serial number")
    if serial in RECORDS:
        return error(409, "there is a record of it already")
    RECORDS[serial] = {"serial_number": serial, "completion_status": "IN PROGRESS"}
    return 201, RECORDS[serial]


def put_record(serial, body):
    record = RECORDS.get(serial)
    if record is None:
        return error(404, "no such record")
    if set(body) != {"completion_status"} or body["completion_status"] not in STATUSES:
        return error(422, "completion_status, and nothing else")
    if record["completion_status"] == "COMPLETE":
        return error(409, "it is complete already")
    record["completion_status"] = body["completion_status"]
    return 200, record


def answer(method, path, query, body):
    parts = [unquote(part) for part in path.strip("/").split("/")]
    match (method, parts):
        case "GET", ["api", "booths"]:
            return get_booths(query)
        case "GET", ["api", "booths", identifier]:
            return one_booth(identifier, None)
        case "PUT", ["api", "booths", identifier]:
            return one_booth(identifier, body)
        case "GET", ["api", "facilities", identifier]:
            return get_facility(identifier)
        case "POST", ["api", "booths_provisioning"]:
            return post_record(body)
        case "GET", ["api", "booths_provisioning", serial]:
            return (200, RECORDS[serial]) if serial in RECORDS else error(404, "no such record")
        case "PUT", ["api", "booths_provisioning", serial]:
            return put_record(serial, body)
    return error(404, "there is no such operation")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def serve(self):
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        where = urlsplit(self.path)
        with LOCK:
            try:
                body = json.loads(text) if text else None
                if self.headers.get("Authorization") != WAY["key"]:
                    status, said = error(401, "no valid key")
                elif self.command in ("POST", "PUT") and not isinstance(body, dict):
                    status, said = error(400, "an object is needed")
                else:
                    status, said = answer(self.command, where.path, parse_qs(where.query), body)
            except ValueError:
                body, (status, said) = None, error(400, "no JSON")
            told = {"method": self.command, "path": self.path, "body": body, "status": status}
            print(json.dumps(told), flush=True)
        sent = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = serve

    def log_message(self, *_):
        pass


SERVER = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
SERVER.daemon_threads = True
print(SERVER.server_address[1], flush=True)
SERVER.serve_forever()
