"""Subsidiaries from Bloomberg's Data License, over its REST API.

The API's reference stands behind the login of its customers. What is public, and followed here, is the text of its
specification as generated clients carry it (version 2.8.8), and the customers' samples: the sign-in, the catalogs, the
request that brings its own universe and field list, the poll for its response, the form of errors, the limits. Where
that ends: which field holds subsidiaries, what its columns are called and how an entity is named are in Bloomberg's
field catalogue, behind the login, and are params of the verb.
"""
