"""Boat for 52°North's WeatherRoutingTool with power from Demur's vessel service, and an example route."""
