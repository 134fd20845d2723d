"""A plant's mail server, by aiosmtpd: prints a JSON line for each mail that it was given.

Usage: mail_server.py PORT [--starttls CERT KEY | --tls CERT KEY] [--user USER PASSWORD]
What it does next is told by lines of its standard input: ok, grey (450 at the recipient), refused (550 there), busy (451 after
the mail), full (552), hold (takes the mail and says nothing), drop (takes the mail and breaks off), stop, start.
"""

import asyncio
import email
import email.policy
import json
import ssl
import logging
import sys
import warnings

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, SMTP

# That a login over TLS from the first byte needs none by STARTTLS, it doesn't see.
warnings.simplefilter("ignore")
logging.getLogger("mail.log").setLevel(logging.CRITICAL)

ANSWERS = {"grey": "450 4.7.1 greylisted, come back in a minute", "refused": "550 5.1.1 no such user"}
LATER = {"busy": "451 4.3.0 try again later", "full": "552 5.2.2 mailbox full"}

arguments = sys.argv[1:]
port = int(arguments.pop(0))
options = {}
while arguments:
    name = arguments.pop(0)
    options[name] = (arguments.pop(0), arguments.pop(0))

mode = "ok"


def tell(line):
    print(json.dumps(line), flush=True)


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        if mode in ANSWERS:
            tell({"answered": mode})
            return ANSWERS[mode]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if mode in LATER:
            tell({"answered": mode})
            return LATER[mode]
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        tell(
            {
                "id": mail["Message-ID"],
                "subject": mail["Subject"],
                "text": mail.get_content().replace("\r\n", "\n"),
                "from": envelope.mail_from,
                "to": envelope.rcpt_tos,
                "auto": mail["Auto-Submitted"],
                "tls": server.transport.get_extra_info("ssl_object") is not None,
                "user": bool(session.authenticated),
            }
        )
        if mode == "drop":
            server.transport.abort()
        if mode == "hold":
            await asyncio.sleep(3600)
        return "250 2.0.0 queued as 4711"


def authenticate(server, session, envelope, mechanism, login):
    user, password = options["--user"]
    good = login.login == user.encode() and login.password == password.encode()
    tell({"login": good})
    return AuthResult(success=good, handled=False) if not good else AuthResult(success=True)


def context(files):
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made.load_cert_chain(*files)
    return made


class Listener(Controller):
    def factory(self):
        starttls = options.get("--starttls")
        user = options.get("--user")
        return SMTP(
            self.handler,
            hostname="mail.test",
            tls_context=context(starttls) if starttls else None,
            require_starttls=starttls is not None,
            authenticator=authenticate if user else None,
            auth_required=user is not None,
            auth_require_tls=user is not None and "--tls" not in options,
        )


def listener():
    tls = options.get("--tls")
    made = Listener(Handler(), hostname="127.0.0.1", port=port, ssl_context=context(tls) if tls else None)
    made.start()
    return made


running = listener()
tell({"listening": port})
for line in sys.stdin:
    word = line.strip()
    if word == "stop":
        running.stop()
    elif word == "start":
        running = listener()
    else:
        mode = word
    tell({"now": word})
