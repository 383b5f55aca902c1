# Python, nothing to install: PORT=3000 WEBHOOK_SECRET=whsec_… python3 receiver.py
import base64, hashlib, hmac, json, os, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

key = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))

def is_genuine(headers, body):
    timestamp = headers.get("webhook-timestamp", "")
    signed = f"{headers.get('webhook-id')}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    is_recent = timestamp.isdigit() and abs(time.time() - int(timestamp)) < 300
    # While a secret is being replaced there are two signatures.
    given = headers.get("webhook-signature", "").split()
    return is_recent and any(hmac.compare_digest(one, f"v1,{expected}") for one in given)

# Keep both in your database: they have to outlive this process.
handled, latest, lock = set(), {}, threading.Lock()

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        genuine = is_genuine(self.headers, body)
        self.send_response(200 if genuine else 401)
        if genuine:
            with lock:  # each request has a thread of its own
                self.handle_event(self.headers["webhook-id"], json.loads(body)["data"])
        self.send_header("content-length", "0")
        self.end_headers()

    def handle_event(self, id, data):
        call, sequence = data.get("call"), data.get("sequence", "")
        # Each event has the whole call: one that comes late, after a retry, must not undo what is newer.
        is_late = call is not None and sequence < latest.get(call["id"], 0)
        if id not in handled:
            print("late" if is_late else "handle", data["name"], sequence, flush=True)
        if call is not None and not is_late:
            latest[call["id"]] = sequence
        handled.add(id)

    def log_message(self, *_):
        pass

ThreadingHTTPServer.request_queue_size = 128  # many calls may begin at once
ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 3000))), Receiver).serve_forever()
