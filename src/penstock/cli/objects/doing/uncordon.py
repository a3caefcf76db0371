"""What `penstock uncordon` does."""

from functools import partial

from penstock.cli.objects.doing import cordoning

perform = partial(cordoning.perform, "uncordon")
