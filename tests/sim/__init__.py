"""The life of NodeSets under random people and random weather, in virtual time (issue 6, promise number one).

```
draw       a seed -> a schedule                      schedule   what is done when, as data and in words
people     what people do                            weather    what goes wrong
stage      a cluster at rest, to begin with          play       a schedule, from the first step to rest
books      what happened, and what must not          judges/    the promises, each looked after at every step
resting    what must be true when all is quiet       rare       what people do seldom
forks      many schedules, each in a process of its own               shrinking   the least that still fails
report     how often everything happened             mutants    operators broken on purpose
trace      all that happens, line by line            command    the program as tests run it
```

`python -m tests.sim --help` tells how to run it.
"""
