"""Finds, among very many steps, those that share words with a request: near misses are there."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from scenarios_app.engine.matching.conditions import words_in, words_of
from scenarios_app.engine.matching.match import CompiledMatch
from scenarios_app.engine.matching.request_view import Reading, Subject

_COUNTED = 20_000


class Words:
    """The words that steps ask for, each with the positions of the steps."""

    def __init__(self, matches: Sequence[CompiledMatch]) -> None:
        filed: defaultdict[str, list[int]] = defaultdict(list)
        subjects: dict[Subject, None] = {}
        for position, match in enumerate(matches):
            needs = [need for check in match.checks for need in check.needs]
            subjects.update((need.subject, None) for need in needs)
            conditions = (condition for need in needs for condition in need.conditions)
            for word in {word for condition in conditions for word in words_of(condition)}:
                filed[word].append(position)
        self._filed = dict(filed)
        self._subjects = tuple(subjects)

    def sharing(self, reading: Reading) -> list[int]:
        """The positions of the steps with words in common, those with the most first. The rarest
        words count; common ones only while that touches few enough steps."""
        words = {
            word
            for subject in self._subjects
            for text in reading.texts(subject)
            for word in words_in(text.plain)
        }
        shared: Counter[int] = Counter()
        for word in sorted(words & self._filed.keys(), key=lambda w: (len(self._filed[w]), w)):
            if shared and shared.total() + len(self._filed[word]) > _COUNTED:
                break
            shared.update(self._filed[word][:_COUNTED])
        return sorted(shared, key=lambda position: (-shared[position], position))
