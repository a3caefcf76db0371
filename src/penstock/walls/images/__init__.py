"""Images of rooms: what somebody brings (an OCI layout, a directory, a squashfs file) becomes what the plugin can use.

layouts   where blobs are       choice    the image in a layout, and what it says      blobs    verified, unpacked
entries   tars, read with care  tree      a tree that no name leads out of             layer    a tar laid onto a tree
content   what a tree has in it, as one digest                                         squash   a tree as one file
record    what is known of an image        store    the directory of them, by digest
"""
