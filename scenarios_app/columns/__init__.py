"""What of a scenario document lies in which column of its rows, both ways and without loss.

A value that its column can hold is lifted out of the document; whatever is left stays, in the
document's own form, in the extra column of its section. Lowering puts the two together again.
"""

from scenarios_app.columns.lift import scenario_values, step_values
from scenarios_app.columns.lower import column_at, scenario_object, step_object

__all__ = ["column_at", "scenario_object", "scenario_values", "step_object", "step_values"]
