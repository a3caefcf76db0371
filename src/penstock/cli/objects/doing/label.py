"""What `penstock label` does."""

from functools import partial

from penstock.cli.objects.doing import marking

perform = partial(marking.perform, "label", "labels")
