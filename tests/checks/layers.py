# SPDX-License-Identifier: Apache-2.0
"""Shared by check_includes and check_symbols: the layers of the tree."""

# The layers, lowest first. A file includes and calls files of its own layer or of
# a lower one. The longest prefix decides.
# Code of host_support/ is the host's part of device code, and device code calls it.
# Programs compile the inline functions of typed_*.h. No file of the library does.
LAYERS = (("include/peal/abi/",), ("include/", "runtime/host_support/"),
          ("runtime/base/",),
          ("ringkernels/",), ("runtime/device/", "runtime/runtime.h"), ("p2p/",), ("queues/",),
          ("runtime/ipc/",), ("runtime/kernel/",), ("runtime/link/",),
          ("runtime/actor/",), ("runtime/launch/",), ("runtime/rpc/",),
          ("runtime/compute/",), ("runtime/collective/",),
          ("runtime/observe/",), ("runtime/runtime.c",),
          ("runtime/cli/", "runtime/pkg/", "bench/", "include/peal/typed_"))
RANKS = sorted(((prefix, rank) for rank, prefixes in enumerate(LAYERS)
                for prefix in prefixes), key=lambda p: -len(p[0]))


def layer(path):
    """Returns the rank of a file's layer, or None."""
    for prefix, rank in RANKS:
        if path.startswith(prefix):
            return rank
    return None
