"""Local model APIs that answer from a script, hold at gates, inject faults, and record what the model saw."""

from checkrein.scripted_models.dialects import DIALECTS, default_classifier, default_history_rules
from checkrein.scripted_models.errors import (
    DeadlineExceeded,
    HeldToolEnded,
    ScriptError,
    ScriptViolation,
    ToolMissing,
    Violation,
    ViolationKind,
)
from checkrein.scripted_models.gates import Gate
from checkrein.scripted_models.held_tools import HeldTool
from checkrein.scripted_models.lanes import Lane, LaneKind
from checkrein.scripted_models.loading import load_scripts
from checkrein.scripted_models.profile import HarnessProfile, HistoryRules, NativeCall, ParsedRequest, Toolset
from checkrein.scripted_models.progress import HangUp, StepProgress
from checkrein.scripted_models.reply import (
    Usage,
    cut,
    edit_file,
    fail,
    hold,
    pause,
    raw,
    read_file,
    say,
    shell,
    silence,
    think,
    tool,
    write_file,
)
from checkrein.scripted_models.requests import ModelRequest
from checkrein.scripted_models.script import Script, Step
from checkrein.scripted_models.seeing import ResultExpectation, Sees, sees, steer_text
from checkrein.scripted_models.server import ModelServer
from checkrein.scripted_models.session import ModelSession
from checkrein.scripted_models.timeline import Row, Source, Timeline
from checkrein.scripted_models.views import HistoryItem, ItemKind, ToolCall, ToolResult, View

__all__ = [
    "DIALECTS",
    "DeadlineExceeded",
    "Gate",
    "HangUp",
    "HarnessProfile",
    "HeldTool",
    "HeldToolEnded",
    "HistoryItem",
    "HistoryRules",
    "ItemKind",
    "Lane",
    "LaneKind",
    "ModelRequest",
    "ModelServer",
    "ModelSession",
    "NativeCall",
    "ParsedRequest",
    "ResultExpectation",
    "Row",
    "Script",
    "ScriptError",
    "ScriptViolation",
    "Sees",
    "Source",
    "Step",
    "StepProgress",
    "Timeline",
    "ToolCall",
    "ToolMissing",
    "ToolResult",
    "Toolset",
    "Usage",
    "View",
    "Violation",
    "ViolationKind",
    "cut",
    "default_classifier",
    "default_history_rules",
    "edit_file",
    "fail",
    "hold",
    "load_scripts",
    "pause",
    "raw",
    "read_file",
    "say",
    "sees",
    "shell",
    "silence",
    "steer_text",
    "think",
    "tool",
    "write_file",
]
