"""Importers: file formats of our own and other tools."""

from typing import Final

MEMBERS: Final = {
    "rtw": "rtassay.importers.rtw:RtwImporter",
}
