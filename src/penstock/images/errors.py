"""What can go wrong with images, by what a person can do about it.

```
ImageError
├── MissingImage         nobody has built it here yet: says how to
├── BadRecipe            a recipe (or a list of packages) says something that cannot be
├── MissingMeans         this machine lacks a program or a right: says how to get it
├── ArchiveUnreachable   the package archive does not answer: check network and proxy, try again
├── PackageGone          the archive no longer has a package in the version that was asked for
└── BuildFailed          a step ended badly: its last words
```
"""

from __future__ import annotations


class ImageError(Exception):
    """Something is wrong with an image; the text says what, and what to do next."""


class MissingImage(ImageError):
    """No image of that name has been built or imported here."""


class BadRecipe(ImageError):
    """A recipe or a list of packages cannot be what it says."""


class MissingMeans(ImageError):
    """This machine cannot build images as it is."""


class ArchiveUnreachable(ImageError):
    """The package archive did not answer."""


class PackageGone(ImageError):
    """The archive has other versions than the list of packages asks for."""


class BuildFailed(ImageError):
    """A command of the build ended badly."""
