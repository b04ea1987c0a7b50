"""Files of what is compared: taken in, checked, decoded apart, and kept as copies for browsers."""

TASKS = {
    "picture": "tiewise.study.media.pictures:decode",
    "pdf": "tiewise.study.media.pdf:decode",
    "recording": "tiewise.study.media.recordings:take",
    "markdown": "tiewise.study.media.prose:take_markdown",
    "text": "tiewise.study.media.prose:take_plain",
}
"""What the process that decodes files can do with one, by kind."""
