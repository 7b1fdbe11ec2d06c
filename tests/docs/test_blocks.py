"""Every block of code in the README and in docs/ is run, or checked as far as that goes."""

import ast
import configparser
import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import parity
from parity.cli import parser

ROOT = Path(__file__).parents[2]
FILES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
PAGES = {path.name: path.read_text() for path in FILES}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {"python", "console", "sh", "text", "json", "yaml", "ini"}

# pages whose Python is run by a separate test, which names them
ELSEWHERE = {
    "adding-a-cause.md": "test_adding_a_cause.py",
    "README.md": "test_readme.py",
    "rl.md": "test_readme.py",
    "distributions.md": "test_readme.py",
    "heads.md": "test_readme.py",
    "stages.md": "test_readme.py",
    "observations.md": "test_observations.py",
    "observations-search.md": "test_observations_search.py",
    "test-run.md": "test_test_run.py",
    "tutorial.md": "test_tutorial.py",
}
# needs ray and Keras 2, which have an environment of their own: read, not run
READ_ONLY = {"rllib.md"}
SCHEMES = ("yaml", "ini", "json")


def blocks(*languages):
    return [
        pytest.param(name, code, id=f"{name}-{number}")
        for name, page in PAGES.items()
        for number, (language, code) in enumerate(FENCE.findall(page))
        if language in languages
    ]


def test_every_block_says_its_language_and_is_closed():
    for name, page in PAGES.items():
        assert page.count("\n```") % 2 == 0 or page.startswith("```"), name
        for language, code in FENCE.findall(page):
            assert language in LANGUAGES, f"{name}: ```{language}\n{code[:80]}"


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_page_that_is_run_elsewhere_is_named_there(name):
    assert name in (ROOT / "tests" / "docs" / ELSEWHERE[name]).read_text()


def run(code, folder):
    (folder / "script.py").write_text(code)
    path = [str(ROOT), *(entry for entry in sys.path if entry)]
    words = f"import runpy, sys; sys.path[:0] = {path!r}; runpy.run_path('script.py')"
    return subprocess.run([sys.executable, "-c", words], cwd=folder, capture_output=True, text=True)


HERE = [one for one in blocks("python") if one.values[0] not in {*ELSEWHERE, *READ_ONLY}]


@pytest.mark.parametrize(("name", "code"), HERE)
def test_a_script_runs_and_prints_what_it_says(tmp_path, name, code):
    """What is in a comment behind `print(...)`, or in the `text` block that follows."""
    for module in {"torch", "keras"} & set(re.findall(r"^import (\w+)", code, re.MULTILINE)):
        pytest.importorskip(module)
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    said = re.findall(r"^ *print\(.*\)  # (.*)$", code, re.MULTILINE)
    follows = PAGES[name].partition(code)[2]
    shown = re.match(r"```\n\n```text\n(.*?)```", follows, re.DOTALL)
    if said or shown:
        assert done.stdout.splitlines() == (shown[1].splitlines() if shown else said)


def test_a_script_that_fails_is_seen(tmp_path):
    assert run("import parity\nparity.nothing\n", tmp_path).returncode == 1


READ = [one for one in blocks("python") if one.values[0] in READ_ONLY]


@pytest.mark.parametrize(("name", "code"), READ)
def test_what_is_only_read_names_what_there_is(name, code):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "parity":
            assert hasattr(parity, node.attr), node.attr


# --- commands ------------------------------------------------------------------------------------


def lines(code):
    """Commands of a `sh` block, or those behind `$ ` of a `console` block."""
    if "\n$ " in f"\n{code}":
        code = "\n".join(line[2:] for line in code.splitlines() if line.startswith("$ "))
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words and re.match(r"[A-Z_]+=", words[0]):
            words = words[1:]
        if words:
            yield [word for word in words if word != ">"]


COMMANDS = [
    pytest.param(words, id=f"{name}: {' '.join(words)[:60]}")
    for param in blocks("sh", "console")
    for name, code in [param.values]
    for words in lines(code)
]


def test_commands_are_found():
    programs = {param.values[0][0] for param in COMMANDS}
    assert {"make", "pip", "parity", "pytest", "python"} <= programs
    assert len(COMMANDS) > 30


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_is_one_that_there_is(words):
    """Its words fit its parser; those of the tutorial are run as well."""
    program = words[0]
    if program == "parity":
        assert callable(parser().parse_args(until_redirection(words[1:])).run)
    elif program == "pytest":
        known = set(re.findall(r"--[\w-]+", plugin_help()))
        asked = {word.partition("=")[0] for word in words if word.startswith("--parity")}
        assert asked <= known
    elif program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert {word for word in words[1:] if "=" not in word} <= set(targets)
    elif program == "python":
        check_python(words[1:])
    elif program == "pip":
        extras = re.findall(r"\[([\w,]+)\]", " ".join(words))
        declared = (ROOT / "pyproject.toml").read_text()
        for extra in {name for group in extras for name in group.split(",")}:
            assert re.search(rf"^{extra} = \[", declared, re.MULTILINE), extra
    else:
        assert program in {"echo", "sed", "ls", "cd", "git"}


def until_redirection(words):
    """`> FILE` at the end is the shell's; `lines` has taken the sign away."""
    return words[:-1] if words and words[-1].endswith(".txt") else words


def plugin_help():
    from benchmarks.options import _plugin

    return "\n".join(_plugin())


def check_python(words):
    if words[0] != "-m":
        assert words[0].startswith("DIR/")  # a script that parity has written
        return
    assert importlib.util.find_spec(words[1]) is not None, words
    source = Path(importlib.util.find_spec(words[1]).origin)
    code = source.read_text()
    if source.name == "__init__.py":
        code = source.with_name("__main__.py").read_text()
    options = [word for word in words[2:] if word.startswith("-")]
    written = "from benchmarks.pages import write" in code
    assert all(f'"{word}"' in code or written and word == "--write" for word in options), words


@pytest.mark.parametrize(
    "words",
    [
        ["parity", "compare", "a:b", "c:d", "--nothing"],
        ["pytest", "--parity-nothing", "x"],
        ["make", "nothing"],
        ["python", "-m", "benchmarks.nothing"],
        ["python", "-m", "benchmarks.options", "--nothing"],
        ["pip", "install", ".[nothing]"],
        ["curl"],
    ],
    ids=" ".join,
)
def test_a_command_that_there_is_not_is_seen(words):
    with pytest.raises((AssertionError, SystemExit)):
        test_a_command_is_one_that_there_is(words)


# --- data ----------------------------------------------------------------------------------------


def parse(language, code):
    if language == "yaml":
        pytest.importorskip("yaml").safe_load(code)
    elif language == "ini":
        configparser.ConfigParser(interpolation=None).read_string(code)
    else:
        json.loads(code if code.lstrip().startswith(("{", "[")) else f"{{{code}}}")


@pytest.mark.parametrize("language", SCHEMES)
def test_data_parses(language):
    for param in blocks(language):
        parse(language, param.values[1])


@pytest.mark.parametrize(("language", "code"), [("ini", "[a\nb"), ("json", '"a": ')])
def test_data_that_does_not_parse_is_seen(language, code):
    with pytest.raises((ValueError, configparser.Error)):
        parse(language, code)


# --- links ---------------------------------------------------------------------------------------


def anchors(page):
    """The ids that GitHub gives a page's headings."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    }


def test_every_link_leads_somewhere():
    for path in FILES:
        page = FENCE.sub("", path.read_text())
        for target in re.findall(r"\]\(([^)\s]+)\)", page):
            if re.match(r"https?://", target):
                continue
            file, _, anchor = target.partition("#")
            found = (path.parent / file).resolve() if file else path
            assert found.exists(), f"{path.name}: {target}"
            if anchor and found.suffix == ".md":
                assert anchor in anchors(found.read_text()), f"{path.name}: {target}"


def test_every_page_is_linked_from_the_readme():
    for path in (ROOT / "docs").glob("*.md"):
        assert f"docs/{path.name}" in PAGES["README.md"], path.name
