"""The volumes of pods, as kubelet makes them.

```
sources     ConfigMaps and Secrets, and what is said of missing ones
contents    which files a volume has (pure)          writer      puts them there at once
ownership   fsGroup      subpath   parts of volumes  host_path   paths of this machine
prepared    all of it together
```
"""

from penstock.engine.volumes.prepared import Bind, Claims, Prepared, Ready, binds, prepare, refresh, remove
from penstock.engine.volumes.sources import MissingReference, Sources, VolumeError, references

__all__ = [
    "Bind",
    "Claims",
    "MissingReference",
    "Prepared",
    "Ready",
    "Sources",
    "VolumeError",
    "binds",
    "prepare",
    "references",
    "refresh",
    "remove",
]
