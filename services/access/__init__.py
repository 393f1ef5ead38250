"""Access control: tokens with scopes and rates, and certificates; independent of the transport."""
