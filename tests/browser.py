"""Pages as a browser runs them."""

import html
import json
import re
import shutil
import subprocess

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ERRORS = """<script>const errors = []; addEventListener("error", (event) => errors.push(event.message));
addEventListener("securitypolicyviolation", (event) => errors.push(event.violatedDirective));
console.error = console.warn = (...words) => errors.push(words.join(" "));</script>"""


def said(folder, text, script, size, *more):
    """What a script says in `seen` when a browser runs it after the page's own script."""
    script += """document.body.innerHTML =
        "<pre>" + JSON.stringify(seen).replace(/</g, "&lt;").replace(/>/g, "&gt;") + "</pre>";"""
    text = text.replace("<style>", f"{ERRORS}<style>").replace("</body>", f"<script>{script}</script></body>")
    (folder / "map.html").write_text(text, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    options += [f"--window-size={size}", *more, "--dump-dom", (folder / "map.html").as_uri()]
    assert BROWSER
    run = subprocess.run([BROWSER, *options], capture_output=True, timeout=120, check=True)
    found = re.search("<pre>(.*)</pre>", run.stdout.decode())
    assert found, "the page's script has failed"
    return json.loads(html.unescape(found[1]))
