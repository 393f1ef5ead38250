"""Open Inference Protocol v2 over gRPC and HTTP: tensors in, tensors out, for clients of other servers."""
