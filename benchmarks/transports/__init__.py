"""Race of gRPC servers for Python that take and give bytes, and the contract that each of them keeps or breaks."""
