"""Expectations: what a request must hold before its step answers it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from checkrein.scripted_models.views import View

Texts = str | Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultExpectation:
    """What one call's result must be: an error or not (None: either), and texts it must hold."""

    error: bool | None
    has: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sees:
    """One step's expectations; every text is matched as a part, exactly as written."""

    user: tuple[str, ...] = ()
    steer: tuple[str, ...] = ()
    assistant: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    assistant_lacks: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    result: Mapping[str, ResultExpectation] = field(default_factory=dict[str, ResultExpectation])
    no_result: tuple[str, ...] = ()

    def mismatches(self, view: View) -> tuple[str, ...]:
        """Return a sentence for each expectation that `view` does not fulfil."""
        found: list[str] = []
        groups = (
            ("user", self.user, view.user_texts),
            ("assistant", self.assistant, view.assistant_texts),
            ("system", self.system, view.system_texts),
        )
        for side, wanted, texts in groups:
            found += [
                f"no {side} text holds {text!r}" for text in wanted if not any(text in t for t in texts)
            ]
        fresh = view.fresh_text
        found += [f"nothing since the model's last answer holds {t!r}" for t in self.steer if t not in fresh]
        for text in self.assistant_lacks:
            if any(text in said for said in view.assistant_texts):
                found.append(f"an assistant text holds {text!r}, which it must not")
        for text in self.lacks:
            if count := view.count(text):
                found.append(f"the history holds {text!r} {count} time(s), which it must not")
        for text in self.once:
            if (count := view.count(text)) != 1:
                found.append(f"the history holds {text!r} {count} time(s) instead of once")
        results = view.results
        for call, wanted in self.result.items():
            if call not in results:
                found.append(f"call {call!r} has no result")
                continue
            seen = results[call]
            # A dialect without an error flag gives None, which contradicts nothing.
            if wanted.error is not None and seen.error is not None and wanted.error != seen.error:
                found.append(
                    f"result of {call!r} has error={seen.error}, expected {wanted.error}: {seen.text!r}"
                )
            found += [
                f"result of {call!r} does not hold {t!r}: {seen.text!r}"
                for t in wanted.has
                if t not in seen.text
            ]
        found += [
            f"call {call!r} has a result, which it must not" for call in self.no_result if call in results
        ]
        return tuple(found)


class _SeesWord:
    """The word `sees`: called, it makes expectations; `sees.error`, `sees.ok` and `sees.has` make those for results."""

    def __call__(
        self,
        *,
        user: Texts = (),
        steer: Texts = (),
        assistant: Texts = (),
        system: Texts = (),
        assistant_lacks: Texts = (),
        lacks: Texts = (),
        once: Texts = (),
        result: Mapping[str, ResultExpectation | Texts] | None = None,
        no_result: Texts = (),
    ) -> Sees:
        """Make a step's expectations.

        `user`, `assistant`, `system`: parts of some text on that side, anywhere in the history. `steer`: parts
        of what came since the model's last answer, wherever the harness puts it. `assistant_lacks`, `lacks`:
        parts that must be absent (from the model's texts; from the whole history). `once`: parts that the
        whole history holds exactly once. `result`: by call id, parts of its result, or `sees.error(...)`,
        `sees.ok(...)`. `no_result`: call ids that must not have one.
        """
        expected = {
            call: wanted if isinstance(wanted, ResultExpectation) else self.has(wanted)
            for call, wanted in (result or {}).items()
        }
        return Sees(
            user=texts(user),
            steer=texts(steer),
            assistant=texts(assistant),
            system=texts(system),
            assistant_lacks=texts(assistant_lacks),
            lacks=texts(lacks),
            once=texts(once),
            result=expected,
            no_result=texts(no_result),
        )

    def has(self, parts: Texts = ()) -> ResultExpectation:
        """Expect a result that holds `parts`, error or not."""
        return ResultExpectation(error=None, has=texts(parts))

    def error(self, parts: Texts = ()) -> ResultExpectation:
        """Expect a result that is marked as an error, where the dialect has such a mark, and holds `parts`."""
        return ResultExpectation(error=True, has=texts(parts))

    def ok(self, parts: Texts = ()) -> ResultExpectation:
        """Expect a result that is not marked as an error and holds `parts`."""
        return ResultExpectation(error=False, has=texts(parts))


sees = _SeesWord()


def steer_text(text: str) -> Sees:
    """Expect `text` since the model's last answer, and exactly once in the whole history."""
    return sees(steer=text, once=text)


def texts(value: Texts) -> tuple[str, ...]:
    """Return one text or several as a tuple."""
    return (value,) if isinstance(value, str) else tuple(value)
