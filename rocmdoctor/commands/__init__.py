"""The commands, one module each: a few lines over the layers, their imports inside (start-up time is part of the product).

The module has a function of its own name, or an `app` where the command is a group; the function returns the exit status. It is
loaded only when its command is asked for, or for the help.
"""

NAMES = (
    *("check", "snapshot", "list-checks", "explain", "stack", "topology", "facts", "version"),
    *("fleet", "matrix"),
    *("install", "uninstall", "fix", "undo", "verify"),
)
"""In the order of the help. The module of list-checks is list_checks."""
