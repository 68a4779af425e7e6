"""The Java example runs under `mockllm run`, with a stand-in for JUnit, which needs a download."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.project import processes
from tests.support import fork_server
from tests.support.required_services import require

EXAMPLE = Path("examples", "java", "WeatherTest.java").resolve()
API = "org/junit/jupiter/api"
# The parts of JUnit that the example uses.
STAND_INS = {
    "AfterEach": "public @interface AfterEach {}",
    "BeforeEach": "public @interface BeforeEach {}",
    "Test": "public @interface Test {}",
    "TestInfo": """
        public record TestInfo(java.util.Optional<java.lang.reflect.Method> getTestMethod) {}
    """,
    "Assertions": """
        public class Assertions {
            public static void assertEquals(int wanted, int got, String message) {
                assertTrue(wanted == got, message);
            }
            public static void assertTrue(boolean holds, String message) {
                if (!holds) throw new AssertionError(message);
            }
        }
    """,
}
MAIN = """
import java.util.Optional;
import org.junit.jupiter.api.TestInfo;

class Main {
    public static void main(String[] names) throws Exception {
        for (String name : names) {
            var test = new WeatherTest();
            test.name(new TestInfo(Optional.of(WeatherTest.class.getDeclaredMethod(name))));
            var method = WeatherTest.class.getDeclaredMethod(name);
            method.setAccessible(true);
            method.invoke(test);
            test.judge();
            System.out.println(name + " passed");
        }
    }
}
"""

pytestmark = pytest.mark.process


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    """Compile the example; return the folder of its classes."""
    require(bool(shutil.which("javac")), "there is no JDK")
    sources = {f"{API}/{name}.java": text for name, text in STAND_INS.items()}
    for name, text in sources.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"package {API.replace('/', '.')};\n{text}")
    (tmp_path / "Main.java").write_text(MAIN)
    shutil.copy(EXAMPLE, tmp_path)
    files = [*sources, "Main.java", EXAMPLE.name]
    subprocess.run(["javac", *files], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def test_example_in_java_passes_with_its_verdict(classes: Path) -> None:
    (name,) = re.findall(r"@Test\s+void (\w+)\(", EXAMPLE.read_text())
    command = (fork_server.python(), "-P", "-m", "mockllm_site", "run", "--")
    result = processes.run(*command, "java", "Main", name, cwd=classes)
    assert (result.returncode, result.stdout) == (0, f"{name} passed\n"), result.stderr
    assert result.stderr == "mockllm: passed: the run, 1 request\n"
