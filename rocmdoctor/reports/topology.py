"""The forms of `topology` by their names; each one's module is loaded when it is asked for."""

from __future__ import annotations

from rocmdoctor.topology import Topology


def render(name: str, topology: Topology, *, color: bool = False, width: int = 80) -> str:
    """`topology` as text, svg or json."""
    if name == "svg":
        from rocmdoctor.reports import topology_svg
        from rocmdoctor.topology.drawing import draw

        return topology_svg.render(draw(topology))
    if name == "json":
        from rocmdoctor.reports import topology_json

        return topology_json.render(topology)
    from rocmdoctor.reports import topology_text

    return topology_text.render(topology, color=color, width=width)
