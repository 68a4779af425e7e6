"""The Testcontainers examples have valid syntax, and start the server as the image does.

Containers need a daemon, which the suite does not require. The page's last blocks run the same
server.
"""

import ast
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks_of

BLOCKS = {block.language: block for block in blocks_of("docs/how-to/containers.md") if block.file}
# Parses a file without its dependencies, which would have to be installed.
PARSE_JAVA = """
import com.sun.source.util.JavacTask;
import java.nio.file.Path;
import java.util.List;
import javax.tools.*;

class Parse {
    public static void main(String[] files) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> problems = new DiagnosticCollector<>();
        StandardJavaFileManager manager = compiler.getStandardFileManager(problems, null, null);
        var units = manager.getJavaFileObjects(Path.of(files[0]));
        ((JavacTask) compiler.getTask(null, manager, problems, null, null, units)).parse();
        problems.getDiagnostics().forEach(System.out::println);
        System.exit(problems.getDiagnostics().isEmpty() ? 0 : 1);
    }
}
"""


def check(folder: Path, *command: str | Path) -> None:
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"there is no {command[0]}")
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr


def write_example(language: str, folder: Path) -> Path:
    block = BLOCKS[language]
    assert block.file is not None
    file = folder / block.file
    file.write_text(block.text)
    return file


def test_examples_are_in_four_languages_with_one_scenario() -> None:
    assert set(BLOCKS) == {"python", "js", "java", "go", "json"}


def test_python_example_has_valid_syntax() -> None:
    ast.parse(BLOCKS["python"].text)


def test_javascript_example_has_valid_syntax(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"type": "module"}')
    check(tmp_path, "node", "--check", write_example("js", tmp_path))


def test_java_example_has_valid_syntax(tmp_path: Path) -> None:
    (tmp_path / "Parse.java").write_text(PARSE_JAVA)
    check(tmp_path, "java", "Parse.java", write_example("java", tmp_path))


def test_go_example_has_valid_syntax_and_format(tmp_path: Path) -> None:
    file = write_example("go", tmp_path)
    if shutil.which("gofmt") is None:
        # Without Go, at least its brackets are closed.
        text = re.sub(r'"(?:\\.|[^"\\])*"|`[^`]*`', "", file.read_text())
        assert all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}"))
        pytest.skip("there is no gofmt")
    check(tmp_path, "gofmt", "-l", "-e", file)


@pytest.mark.parametrize("language", ["python", "js", "java", "go"])
def test_example_starts_the_server_of_the_image(language: str) -> None:
    (command,) = re.findall(r"^CMD (\[.+\])$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    text = re.sub(r"[^\w.-]+", " ", BLOCKS[language].text)
    assert f"{' '.join(json.loads(command))} --no-catch-all" in text
    assert "MOCKLLM_ENV" in text and "mockllm ready on" in text
