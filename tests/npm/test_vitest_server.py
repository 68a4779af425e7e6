"""How mockllm-vitest starts a server. Needs node alone, no package from npm."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.places import INSTALLED
from tests.support.required_services import require

MODULE = Path("tools", "vitest", "server.mjs").resolve()
SECONDS = 120
READ_PAGE = """
import { startServer } from "%s";
const server = await startServer(".", { command: %r, ...%s });
const page = await fetch(`${server.url}/admin/login/`);
console.log(page.status, (await page.text()).includes("this is a light server"));
await server.stop();
"""


@pytest.mark.process
@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize(
    ("options", "output"), [("{}", "404 true"), ("{ light: false }", "200 false")]
)
def test_server_is_light_unless_the_option_says_otherwise(
    tmp_path: Path, options: str, output: str
) -> None:
    node = shutil.which("node")
    require(node is not None, "node is not there")
    code = READ_PAGE % (MODULE, str(INSTALLED / "mockllm"), options)
    command = [str(node), "--input-type=module", "-e", code]
    result = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert result.stdout.strip() == output, result.stderr
