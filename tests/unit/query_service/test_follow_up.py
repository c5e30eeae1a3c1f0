import pytest

from query_service.sessions.follow_up import standalone


@pytest.mark.parametrize(
    ("before", "question", "expected"),
    [
        ("How many encounters were there in 2021?", "What about 2022?", "How many encounters were there in 2022?"),
        ("How many encounters were there in 2021?", "And in 2023?", "How many encounters were there in 2023?"),
        ("What are the symptoms of influenza?", "How about asthma?", "What are the symptoms of asthma?"),
        ("What are the symptoms of influenza?", "How is it treated?", "How is influenza treated?"),
        ("What does the notice say about the clinic?", "When does it open?", "When does the clinic open?"),
        ("What are the symptoms of influenza?", "What does insulin do?", "What does insulin do?"),
        ("What are the symptoms of influenza?", "Does Metformin lower it?", "Does Metformin lower it?"),
    ],
)
def test_a_follow_up_takes_what_it_lacks_from_the_question_before(before: str, question: str, expected: str) -> None:
    assert standalone(question, [before]) == expected


def test_the_first_question_of_a_conversation_stays_as_it_is() -> None:
    assert standalone("What about 2022?", []) == "What about 2022?"
