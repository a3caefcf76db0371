"""What `penstock annotate` does."""

from functools import partial

from penstock.cli.objects.doing import marking

perform = partial(marking.perform, "annotate", "annotations")
