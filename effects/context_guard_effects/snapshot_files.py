"""How the snapshots of `guard_snapshot` lie on disk: one file each, in bytes, since text mode folds line ends."""

from syrupy.extensions.single_file import SingleFileSnapshotExtension


class TextFile(SingleFileSnapshotExtension):
    file_extension = "txt"


class JsonFile(SingleFileSnapshotExtension):
    file_extension = "json"
