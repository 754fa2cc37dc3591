"""The L-BFGS of the core (`lbfgs.cpp`) for many documents in step, each with a memory and a step length of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch

from paravec.engines.gpu.held import Tensor
from paravec.engines.gpu.kernels import rows as kernels
from paravec.engines.gpu.kernels import solve

Gradient: TypeAlias = Callable[[Tensor, Tensor], Tensor]  # of the log-likelihood at x, for documents of these numbers

_MEMORY, _PATIENCE = solve.MEMORY.value, solve.PATIENCE.value
_DISTANCE, _TRIES = solve.DISTANCE.value, solve.TRIES.value


class Hill:
    """What documents climb: their log-likelihood minus l2 |d|^2 / 2, or on the unit sphere the log-likelihood."""

    def __init__(self, gradient: Gradient, l2: Tensor, on_sphere: bool) -> None:
        self._gradient, self.l2, self.on_sphere = gradient, l2, on_sphere

    def gradient(self, x: Tensor, which: Tensor) -> Tensor:
        """At x, as a function of x: on the sphere, the direction of x counts, whatever its length."""
        if not self.on_sphere:
            return self._gradient(x, which) - self.l2[which][:, None] * x
        length = torch.sqrt(row_dots(x, x))[:, None]
        unit = x / length
        found = self._gradient(unit, which)
        return (found - row_dots(found, unit)[:, None] * unit) / length


def climb(hill: Hill, start: Tensor, scale: Tensor, tol: float, max_iter: int) -> Tensor:
    """Where each document ends. `scale` is what its gradient is measured by; if it is 0, the gradient at the start."""
    out = start.clone()
    which = torch.arange(len(start), device=start.device)
    d, gradient = start, hill.gradient(start, which)
    goal = tol * torch.where(scale > 0, scale, torch.sqrt(row_dots(gradient, gradient)))
    memory = _Memory.empty(d)
    smallest, since = torch.full_like(goal, torch.inf), torch.zeros_like(which)
    for _ in range(max_iter):
        length, l2 = torch.sqrt(row_dots(gradient, gradient)), hill.l2[which]
        near = (l2 == 0) | (length <= _DISTANCE * l2 * torch.sqrt(row_dots(d, d)))
        since = torch.where(length < smallest, 0, since + 1)
        smallest = torch.minimum(smallest, length)
        # Rounding is all that is left; where the function is not concave, the gradient may grow on the way for longer.
        tired = since == torch.where(l2 > 0, _PATIENCE, 5 * _PATIENCE)
        at_top = (length == 0) | ((length <= goal) & near) | ~torch.isfinite(length) | tired
        out[which[at_top]] = d[at_top]
        go = torch.nonzero(~at_top)[:, 0]
        if not len(go):
            return out
        which, d, gradient, goal, smallest, since = (each[go] for each in (which, d, gradient, goal, smallest, since))
        memory = memory[go]
        direction, slope, new = memory.direction(gradient)
        t = torch.where(new, 0.5 / torch.sqrt(row_dots(gradient, gradient)), 1.0)
        t, found = _search_line(hill, which, d, direction, slope, t)
        after = d + t[:, None] * direction
        if hill.on_sphere:
            length = torch.sqrt(row_dots(after, after))[:, None]
            after, found = after / length, found * length
        memory.remember(after - d, gradient - found)
        d, gradient = after, found
    out[which] = d
    return out


class _Memory:
    """The last few changes of d and of the gradient, the newest last; what a document does not have yet weighs 0."""

    def __init__(self, changes: Tensor, falls: Tensor, scales: Tensor) -> None:
        self.changes, self.falls, self.scales = changes, falls, scales

    @staticmethod
    def empty(d: Tensor) -> _Memory:
        """Of documents that have not moved."""
        room = d.new_zeros(len(d), _MEMORY, d.shape[1])
        return _Memory(room, room.clone(), d.new_zeros(len(d), _MEMORY))

    def __getitem__(self, which: Tensor) -> _Memory:
        return _Memory(self.changes[which], self.falls[which], self.scales[which])

    def direction(self, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(An approximate inverse of the negated Hessian) gradient, the slope along it, and where nothing is known."""
        x, alphas = gradient, []
        for k in reversed(range(_MEMORY)):
            alphas.append(self.scales[:, k] * row_dots(self.changes[:, k], x))
            x = x - alphas[-1][:, None] * self.falls[:, k]
        newest, fall = self.scales[:, -1], self.falls[:, -1]
        shrink = torch.where(newest > 0, 1 / (newest * row_dots(fall, fall)), 1.0)
        x = x * shrink[:, None]
        for k in range(_MEMORY):
            beta = self.scales[:, k] * row_dots(self.falls[:, k], x)
            x = x + (alphas[_MEMORY - 1 - k] - beta)[:, None] * self.changes[:, k]
        slope = row_dots(gradient, x)
        lost = ~(slope > 0)
        self.scales = torch.where(lost[:, None], 0.0, self.scales)
        x = torch.where(lost[:, None], gradient, x)
        return x, torch.where(lost, row_dots(gradient, gradient), slope), self.scales[:, -1] == 0

    def remember(self, change: Tensor, fall: Tensor) -> None:
        """A step, unless the function is not concave there, or the change is lost in rounding."""
        curvature = row_dots(change, fall)
        good = curvature > 1e-10 * row_dots(change, change)
        self.changes, self.falls, self.scales = (
            torch.where(good.reshape(-1, *[1] * (old.dim() - 1)), torch.cat([old[:, 1:], new[:, None]], 1), old)
            for old, new in (
                (self.changes, change),
                (self.falls, fall),
                (self.scales, 1 / torch.where(good, curvature, 1.0)),
            )
        )


def _search_line(
    hill: Hill, which: Tensor, d: Tensor, direction: Tensor, slope: Tensor, t: Tensor
) -> tuple[Tensor, Tensor]:
    """A t where the slope is small, and the gradient there: secants inside a bracket that fourfold steps open."""
    low, low_slope = torch.zeros_like(t), slope.clone()
    high, high_slope = torch.zeros_like(t), torch.zeros_like(t)
    bracketed = torch.zeros_like(which, dtype=torch.bool)
    t, found = t.clone(), torch.zeros_like(d)
    going = torch.arange(len(which), device=which.device)
    for tries in range(_TRIES + 1):
        at = t[going]
        if tries == _TRIES:
            at = torch.where(low[going] > 0, low[going], at)
            t[going] = at
        found[going] = hill.gradient(d[going] + at[:, None] * direction[going], which[going])
        if tries == _TRIES:
            break
        here = row_dots(found[going], direction[going])
        uphill = here > 0
        for whole, new in ((low, at), (low_slope, here)):
            whole[going] = torch.where(uphill, new, whole[going])
        for whole, new in ((high, at), (high_slope, here)):
            whole[going] = torch.where(uphill, whole[going], new)
        bracketed[going] |= ~uphill
        a, b, rise, fall = (each[going] for each in (low, high, low_slope, high_slope))
        secant, margin = a + (b - a) * rise / (rise - fall), 0.1 * (b - a)
        between = torch.where((secant > a + margin) & (secant < b - margin), secant, 0.5 * (a + b))
        following = torch.where(bracketed[going], between, 4 * at)
        more = (here.abs() > 0.3 * slope[going]) & (following > 0) & (following != at)
        going = going[more]
        if not len(going):
            break
        t[going] = following[more]
    return t, found


def row_dots(a: Tensor, b: Tensor) -> Tensor:
    """The product of each row of a with that of b, whatever other rows there are."""
    out, rows = torch.empty(len(a), device=a.device), 8
    if len(a):
        kernels.dots[(-(-len(a) // rows),)](
            a.contiguous(), b.contiguous(), out, len(a), a.shape[1], ROWS=rows, BLOCK=128, num_warps=1
        )
    return out
