"""Walls: what the tasks of a user get on a node, as files that our SPANK plugin reads (`spank/README.md`).

policy    the words        reading   a file's text -> a policy     writing   and back
images/   what somebody brings -> images that policies can grant
shelf     the directory of policies: which one a uid has, and changing it without a moment of doubt
"""
