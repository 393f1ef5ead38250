"""A boat for 52°North's WeatherRoutingTool whose power comes from Demur's vessel service, and a route that needs it."""
