"""What went wrong, in words the person in front of the screen can act on."""


class InputError(ValueError):
    """Something the user can mend: what came, why it cannot be, and the way out."""


class InputWarning(UserWarning):
    """Something the user should know, though the work goes on."""
