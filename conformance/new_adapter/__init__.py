"""The skeleton of an adapter package: templates, and how they become a folder."""

from checkrein.conformance.new_adapter.names import AdapterNames, adapter_names
from checkrein.conformance.new_adapter.writing import write_adapter

__all__ = ["AdapterNames", "adapter_names", "write_adapter"]
