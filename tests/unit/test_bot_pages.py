"""The pages that the bot serves to whoever installs the app."""

from html import escape

from bot.listeners.oauth import installed, refused


def test_all_that_an_installation_page_says_stands_in_its_main_landmark_as_text() -> None:
    workspace, why = "<b>Meridian</b> & Sons", "Open the <link> again."
    for page, said in ((installed(workspace), workspace), (refused(403, why), why)):
        before, _, rest = page.body.partition("<main>")
        inside, _, after = rest.partition("</main>")
        assert escape(said) in inside
        assert "<h1>" in inside
        assert (before.count("</style>"), after) == (1, "</html>")
