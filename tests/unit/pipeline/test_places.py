"""How many threads one platform may take."""

from __future__ import annotations

from contextlib import ExitStack

from socialq.pipeline.places import Places


def test_a_platform_gets_its_places_and_no_more():
    """The third of two is refused, and a place that is given back is there again."""
    places = Places(threads=8, for_each_platform=2)
    with ExitStack() as held:
        assert held.enter_context(places.place("a"))
        assert held.enter_context(places.place("a"))
        with places.place("a") as taken:
            assert not taken
    with places.place("a") as taken:
        assert taken


def test_a_platform_that_is_full_takes_nothing_from_another():
    """Each platform is counted for itself."""
    places = Places(threads=8, for_each_platform=1)
    with places.place("a"), places.place("b") as taken:
        assert taken


def test_a_refused_place_is_not_given_back():
    """Who got none gives none: the bound stays what it is."""
    places = Places(threads=8, for_each_platform=1)
    with places.place("a"):
        for _ in range(3):
            with places.place("a") as taken:
                assert not taken
    with places.place("a") as first, places.place("a") as second:
        assert (first, second) == (True, False)


def test_the_only_platform_in_use_may_take_every_thread():
    """Nobody is there to leave threads to; when another comes, the share holds again."""
    several = [False]
    places = Places(threads=3, for_each_platform=1, several_in_use=lambda: several[0])
    with ExitStack() as held:
        assert [held.enter_context(places.place("a")) for _ in range(4)] == [True, True, True, False]
        several[0] = True
        with places.place("b") as taken:
            assert taken
    with places.place("a") as first, places.place("a") as second:
        assert (first, second) == (True, False)
