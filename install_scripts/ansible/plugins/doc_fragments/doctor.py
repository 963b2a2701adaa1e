# Copyright: rocmdoctor contributors
# MIT License (see LICENSE)

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  executable:
    description:
      - The C(rocmdoctor) on the target, as a name or as an absolute path.
      - A name is looked for in E(PATH), in C(/usr/local/bin) and in C(/opt/rocmdoctor/bin).
    type: str
    default: rocmdoctor
  matrix:
    description:
      - A compatibility matrix on the target, instead of the one that C(rocmdoctor) brings.
    type: path
requirements:
  - rocmdoctor 0.1.0 or newer on the target, in a Python of its own; the role P(rocmdoctor.rocm.node#role) brings it there
notes:
  - The account that becomes root is not taken for a user of the GPUs. Only users that are named are judged and changed.
author:
  - rocmdoctor contributors (!UNKNOWN)
"""
