"""Who is next."""

from __future__ import annotations

import asyncio

from frontrunner.benchmarks.cluster.turns import PRIORITY, Turns, with_priority


def test_the_lowest_number_goes_first_then_who_asked_first() -> None:
    async def run() -> list[str]:
        turns, order = Turns(1), []

        async def work(name: str, priority: int) -> None:
            async with turns.turn(priority):
                order.append(name)
                await asyncio.sleep(0)

        async with turns.turn(0):
            given = (("c", 2), ("a", 0), ("d", 2), ("b", 1))
            waiting = [asyncio.create_task(work(*one)) for one in given]
            await asyncio.sleep(0)
        await asyncio.gather(*waiting)
        await work("e", 9)
        return order

    assert asyncio.run(run()) == ["a", "b", "c", "d", "e"]


def test_who_gives_up_holds_no_place() -> None:
    async def run() -> int:
        turns, done = Turns(2), 0

        async def work() -> None:
            nonlocal done
            async with turns.turn(0):
                await asyncio.sleep(0)
                done += 1

        async with turns.turn(0), turns.turn(0):
            waiting = [asyncio.create_task(work()) for _ in range(4)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            await asyncio.sleep(0)
        waiting[1].cancel()  # when its turn has come
        await asyncio.gather(*waiting, return_exceptions=True)
        await asyncio.wait_for(asyncio.gather(work(), work(), work()), 60)
        return done

    assert asyncio.run(run()) == 5


def test_what_is_opened_meanwhile_gives_way() -> None:
    assert PRIORITY.get() == 0
    with with_priority(3):
        assert PRIORITY.get() == 3
    assert PRIORITY.get() == 0
