"""Where the tags of frames begin, by one pattern: the twin of the frame tags kernel."""

import re

_HIDDEN = ["script", "style", "template", "textarea", "title", "xmp", "noembed"]
_TAG = re.compile(rf"<(?:(?P<hidden>!--|(?:{'|'.join(_HIDDEN)})(?=[\s/>]))|(?P<frame>i?frame)(?=[\s/>]))", re.I | re.A)


def frame_tags(markup):
    """Return the offsets of the start tags of frames outside of comments, scripts and the like."""
    found, at = [], 0
    while tag := _TAG.search(markup, at):
        at = tag.end()
        if tag["frame"]:
            found.append(tag.start())
            continue
        end = "-->" if tag["hidden"] == "!--" else rf"</{tag['hidden']}(?=[\s/>])"
        match = re.compile(end, re.I | re.A).search(markup, at)
        if match is None:
            break
        at = match.end()
    return found
