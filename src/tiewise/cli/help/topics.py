"""Which journey a command belongs to, and which topic an option: what lists of help are cut by."""

JOURNEYS = {
    "See what this is": ("demo", "data", "simulate"),
    "From answers to results": ("fit", "models", "compare", "judges", "robust", "scrutinise"),
    "Tell others": ("report", "briefing"),
    "Plan a study": ("plan", "design", "sheets", "experiment"),
    "Make a study": ("new", "check", "words"),
    "Run a study": (
        "host", "serve", "phase", "invite", "invite-researcher", "api-token", "export", "import",
        "enter", "exclude", "include",
    ),
    "Keep a study": ("backup-key", "backup", "restore", "upgrade"),
    "Data protection": ("judge-data", "withdraw", "erase"),
    "This installation": ("doctor", "completion"),
}  # fmt: skip
"""Commands in the order in which they are needed; every command is in one of these."""

TOPICS = {
    "Map, neighbours and names": (
        "--areas", "--id", "--name", "--group", "--join-islands", "--edges", "--names", "--matrix",
    ),
    "How the file is read": (
        "--first", "--second", "--chosen", "--tie", "--grade", "--grades", "--judge",
        "--question-id", "--drop-invalid",
    ),
    "Priors": (
        "--priors", "--prior", "--reach", "--share", "--variance", "--variance-prior",
        "--tie-prior", "--ties",
    ),
    "More than one quality per item": (
        "--formula", "--covariates", "--order", "--advantage", "--judge-groups", "--judges",
        "--waves", "--by", "--sharpness", "--thresholds",
    ),
    "Other studies": ("--anchors", "--anchor-slope", "--link"),
    "Computation": ("--engine", "--draws", "--ess", "--seed", "--workers", "--dask"),
    "Words of the results": ("--question", "--higher", "--lower", "--noun", "--scale", "--top"),
    "What is written": (
        "--out", "--force", "--no-report", "--png", "--no-record", "--robust", "--draws-format",
        "--json",
    ),
    "Where a study's answers are": ("--database", "--database-file"),
}  # fmt: skip
"""Options of a command that has many, in the order in which they are listed."""

MANY = 25
"""From so many options on, they are listed by topic."""
FILES = (
    "--areas", "--edges", "--names", "--matrix", "--covariates", "--judges", "--waves", "--anchors",
    "--items", "--layers", "--template", "--save-template", "--key-file", "--database-file",
)  # fmt: skip
FOLDERS = ("--link", "--keep", "--into", "--backup-into")
FILES_OR_FOLDERS = ("--out", "--from")
"""Options whose values a shell completes as names of files or folders."""
FILE_ARGUMENTS = ("file", "source", "archive")
FOLDER_ARGUMENTS = ("folder", "folders", "out")
