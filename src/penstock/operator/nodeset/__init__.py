"""The life of a NodeSet: observe what is, plan what to do (pure), do it, tell about it.

```
reconcile   one look, from observing to telling          snapshot   what is, frozen
plan        what to do about it, and why                 machines   where a worker may run, in DaemonSet mode
act         doing it, each step checked once more        report     status and conditions
revision    which template a worker was made from        expected   what we made and the watch has not shown
```
"""
