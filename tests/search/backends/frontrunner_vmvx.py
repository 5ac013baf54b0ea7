"""A backend of another package: VMVX, IREE's bytecode, of which the space is tiles of workgroups.

It is all that a backend takes whose candidates are described by features of the package.
"""

import math
from functools import partial

import z3

from frontrunner.core import allowed_cpus
from frontrunner.search import Backend, Constraint, Knob, Space, Target, kind_of

PIPELINE = "VMVXDefault"


def describe(attribute, name):
    return Target("vmvx", "vmvx", name, allowed_cpus(), 16, 16, (32 << 10, 1 << 20, 0))


def spaces(dispatch, extras):
    return {} if kind_of(dispatch.problem).chained else {PIPELINE: partial(tiles, dispatch)}


def tiles(dispatch):
    problem, target = dispatch.problem, dispatch.target
    parallel = [d for d in problem.dims if d.parallel]
    powers = {d: {1 << n for n in range(d.size.bit_length())} | {d.size} for d in parallel}
    knobs = tuple(Knob(f"dist_{d.name}", tuple(sorted(powers[d]))) for d in parallel)
    points = math.prod((knob.var for knob in knobs), start=z3.IntVal(1))
    rule = Constraint("a workgroup is worth handing out", points >= 64, prunes=True)
    return Space(problem, target, PIPELINE, knobs, (rule,), partial(render, problem))


def render(problem, candidate):
    sizes = [candidate.get(f"dist_{d.name}", 0) for d in problem.dims]
    return (
        "#iree_codegen.compilation_info<"
        f"lowering_config = #iree_cpu.lowering_config<distribution = {sizes}>, "
        "translation_info = "
        "#iree_codegen.translation_info<pipeline = #iree_codegen.vmvx_pipeline>>"
    )


BACKEND = Backend(
    name="vmvx",
    names="vmvx",
    examples="'vmvx' for bytecode",
    unknown=(),
    flags=("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=vmvx"),
    target_flags=lambda name: (),
    form="vmvx-bytecode-fb",
    describe=describe,
    spaces=spaces,
    features="vmvx",
    drivers=("local-task", "local-sync"),
    takes_specs=False,
)
