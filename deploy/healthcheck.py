"""Exits with 0 while the site on this machine says that it is ready."""

import http.client
import os
import sys

connection = http.client.HTTPConnection(
    "127.0.0.1", int(os.environ.get("TIEWISE_PORT", "8000")), timeout=8
)
try:
    connection.request("GET", "/health/ready")
    status = connection.getresponse().status
except (OSError, http.client.HTTPException) as error:
    sys.exit(f"The site does not answer: {error}")
if status != 200:
    sys.exit(f"The site is not ready: status {status}")
