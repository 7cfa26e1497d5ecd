"""The forms of the library's functions are those that the headers declare."""

from __future__ import annotations

import ctypes
import re

import pytest
import torch

from lipgnn.kernels.forms import FORMS, form

KINDS = {"int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "double": ctypes.c_double}


def declared(name: str, folder) -> list[tuple[str, str]]:
    """The members of a structure as the headers have them: type and name."""
    text = re.sub(r"//.*", "", "".join(header.read_text() for header in sorted(folder.glob("*.h"))))
    # One structure has two functions.
    name = {"typed_product": "dot_product"}.get(name, name)
    structure = "".join(part.capitalize() for part in name.split("_"))
    body = re.search(rf"struct {structure} {{(.*?)\n}};", text, re.DOTALL).group(1)
    members = []
    for line in body.split(";"):
        if words := line.replace("const ", "").strip():
            kind, names = re.match(r"(\w+)\s*(.*)", words, re.DOTALL).groups()
            members += [("*" if "*" in each else kind, each.strip(" *")) for each in names.split(",")]
    return members


@pytest.mark.parametrize("name", FORMS)
def test_members_are_those_of_the_headers_in_their_order(name, root):
    fields = [(kind, member) for member, kind in FORMS[name].structure._fields_]
    expected = declared(name, root / "lipgnn" / "kernels" / "native")
    assert [member for _, member in fields] == [member for _, member in expected]
    for (kind, member), (written, _) in zip(fields, expected, strict=True):
        if written in KINDS or written == "*":
            assert kind is KINDS.get(written, ctypes.c_void_p), member


def test_an_array_has_the_type_of_the_call_unless_it_says_another():
    made = form({"values": "size 2", "numbers": "int32 size"}, whole="size")
    assert made.arrays == {"values": (None, ("size", "2")), "numbers": (torch.int32, ("size",))}
    with pytest.raises(AttributeError):
        made.structure().value = 1
