"""Images: the root file systems that daemons, workers and login nodes run in, made here of Debian's packages.

```
recipe ──> build ──> library          what is in an image     making it                 what has been made, by name
             ├── apt, archive         the machine's own package archive, asked for another suite
             └── tree                 what the packages' scripts would have done
           oci, sbom                  for other people: an image tar, a list of packages
```

No registry and no container engine is needed, only `apt-get` and `dpkg-deb`, which every Debian has. A tree is a
function of its recipe and its packages' versions: both name it, so nothing is built twice.
"""
