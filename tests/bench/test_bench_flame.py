"""Flame graphs of answers: boxes, the picture and the table."""

from collections import Counter

from flame import StackSampler, arrange, draw, tabulate

STACKS = Counter({("search",): 1, ("search", "plan"): 3, ("search", "present", "<hits>"): 6})


def test_boxes_lie_above_their_callers_and_share_their_width() -> None:
    boxes = {flame.name: flame for flame in arrange(STACKS)}
    assert boxes["search"] == ("search", 0, 0.0, 1.0)
    assert boxes["plan"][1:] == (1, 0.0, 0.3)
    assert boxes["present"][1:] == (1, 0.3, 0.6)
    assert boxes["<hits>"][1:] == (2, 0.3, 0.6)


def test_the_picture_names_functions_and_escapes_them() -> None:
    picture = draw(arrange(STACKS), "An answer & more")
    assert "An answer &amp; more" in picture
    assert "&lt;hits&gt;: 60.0 %" in picture
    assert picture.count("<g>") == 4


def test_the_table_has_what_functions_take_by_themselves_and_with_calls() -> None:
    assert tabulate(STACKS, 2) == [("<hits>", 0.6, 0.6), ("plan", 0.3, 0.3)]


def test_only_what_the_root_calls_is_sampled() -> None:
    def search() -> None:
        while not sampler.stacks:
            pass

    sampler = StackSampler("search")
    with sampler:
        sum(range(100))
        search()
    assert all(stack[0].endswith(".search") for stack in sampler.stacks)
