"""What can go wrong with an image, by what a person can do about it.

```
ImageProblem
├── BadImage       what was brought cannot be used: bring another
├── NoImage        there is none of that name: look at the list
├── ImageInUse     somebody needs it: wait, or change a policy
└── NoMeans        this machine lacks a program: get it, or do without
```
"""

from __future__ import annotations


class ImageProblem(Exception):
    """Something is wrong with an image; the text says what, and what to do next."""


class BadImage(ImageProblem):
    """An image that is damaged, means harm, or is not what it says."""


class NoImage(ImageProblem):
    """No image of that name or digest."""


class ImageInUse(ImageProblem):
    """An image that a step or a policy needs."""


class NoMeans(ImageProblem):
    """This machine cannot do that."""
