"""Who may do what: tokens with scopes, rates, and the certificates of both protocols. Knows no protocol."""
