"""Small packages and wheels with real names, versions and relations, and the signed repositories that hold them."""
