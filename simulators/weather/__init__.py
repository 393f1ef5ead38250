"""An atmosphere, stations in it and three weather models that see it: labelled data in the official format.

`dataset.simulate` is the entrance. `stations` places the observers, `fields` and `atmosphere` make the weather,
`systems` lets weather models see it with their own errors, `columns` writes what they say, `observation` what the
stations report.
"""
