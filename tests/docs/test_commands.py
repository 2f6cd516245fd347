"""Commands and options that pages name are there."""

import ast
import re

import pytest
from tests.docs.commands import Command, commands
from tests.docs.pages import PAGES, blocks, spans
from tests.docs.programs import PARSERS, options_for, options_in

import brokerwise

COMMANDS = [command for page in PAGES for command in commands(page)]
PYTHON = [
    (page, "\n".join(block.lines))
    for page in PAGES
    for block in blocks(page)
    if block.language == "python"
]


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_every_command_is_one_that_its_program_takes(command: Command) -> None:
    for program, *words in command.calls:
        PARSERS[program](words)


@pytest.mark.parametrize("page", PAGES)
def test_every_option_that_a_text_names_is_one_of_its_command(page: str) -> None:
    for span in filter(options_in, spans(page)):
        assert options_in(span) <= options_for(span), span


@pytest.mark.parametrize(
    "wrong",
    [
        *("provision w", "provision w --threshold 1 --treshold 2", "provisoin w"),
        *("overlay", "moves --list many", "dataset make"),
    ],
)
def test_what_the_program_would_refuse_is_found(wrong: str) -> None:
    refusals = "(?i)missing|no such|no command|should be a valid"
    with pytest.raises(Exception, match=refusals):
        PARSERS["brokerwise"](wrong.split())


@pytest.mark.parametrize(("page", "text"), PYTHON)
def test_python_examples_name_what_the_package_has(page: str, text: str) -> None:
    compile(text, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert set(re.findall(r"\bbrokerwise\.(\w+)", text)) <= set(dir(brokerwise))
