"""How the snapshots of `guard_snapshot` lie on disk: one text file each, so that a diff shows lines.

Text mode folds line ends, which costs nothing here: a carriage return stands in these texts as a symbol.
"""

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode


class TextFile(SingleFileSnapshotExtension):
    file_extension = "txt"
    _write_mode = WriteMode.TEXT


class JsonFile(SingleFileSnapshotExtension):
    file_extension = "json"
    _write_mode = WriteMode.TEXT
