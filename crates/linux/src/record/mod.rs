//! Recording a live host through a tracefs instance of its own.
