"""What bricks or silently shortens a session of Pi, and what mends it by appending alone.

`examine` names the faults, `plan_repair` finds what helps and proves it by a second look. Pi reads a session without a
check: a broken line takes all that came before with it, and a call without its result ends every request with a 400.
"""

from context_guard.doctor.examine import examine
from context_guard.doctor.findings import Finding
from context_guard.doctor.kinds import KINDS, Kind, Severity
from context_guard.doctor.repair import Repair, plan_repair

__all__ = ["KINDS", "Finding", "Kind", "Repair", "Severity", "examine", "plan_repair"]
