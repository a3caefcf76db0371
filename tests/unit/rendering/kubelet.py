"""What happens to a container's arguments before a program sees them, as Kubernetes and Slinky's images do it."""

from __future__ import annotations

import re
import subprocess


def expanded(argument: str) -> str:
    """Expand as kubelet does: $(NAME) is a variable, $$ a dollar; here every variable exists, which is the worst."""
    return re.sub(r"\$\$|\$\(([^)]*)\)", lambda match: "$" if match[0] == "$$" else f"<{match[1]}>", argument)


def shell_words(arguments: list[str]) -> list[str]:
    """Take arguments as Slinky's entry point does: joined by blanks, then read by a shell."""
    script = 'eval "set -- $OPTIONS"; printf "%s\\0" "$@"'
    environment = {"OPTIONS": " ".join(arguments), "PATH": "/usr/bin:/bin", "POD_TOPOLOGY": "t:s1"}
    done = subprocess.run(["/bin/sh", "-c", script], env=environment, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.split("\0")[:-1]
