"""Plans: what would be done to a machine, as data. Printing one is the dry run; apply, scripts and Ansible read the same object.

    host -> facts, matrix -> plan -> preview | json | script | apply -> journal -> undo

Building a plan changes nothing and runs nothing that writes. Everything that changes a machine goes through
`rocmdoctor.host.target`.
"""

from __future__ import annotations
