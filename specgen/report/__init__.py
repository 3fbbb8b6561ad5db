"""The compile report: its schema, its assembly from evidence, and its pages."""
