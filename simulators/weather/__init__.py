"""Simulated atmosphere, stations and three weather models: labelled data in the official format.

`dataset.simulate` is the entry point. `stations` places the observers, `fields` and `atmosphere` make the weather,
`systems` derives the view of weather models with their own errors, `columns` writes their forecasts, and
`observation` the reports of stations.
"""
