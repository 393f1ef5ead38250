"""Physics and operation of a container ship: labelled data in the official vessel-power format.

`dataset.simulate` and `dataset.generalisation` are the entry points; `vessel.Vessel.shaft_power` is the physics.
"""
