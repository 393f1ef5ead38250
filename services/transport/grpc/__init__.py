"""gRPC: one asyncio server in the event loop of the process that holds the model."""
