"""What generated suites run on: input generators, the evaluator of formulas, comparison, and the harness.

Importing the package is cheap; its modules import numpy.
"""
