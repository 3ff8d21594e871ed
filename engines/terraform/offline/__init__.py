"""The stand-in for the providers google and google-beta: a server that Terraform plans and applies with.

Real Terraform runs against it unchanged (``session.Standin`` says how). It follows the plug-in SDK and
the facts about the provider, so it proves agreement with these facts, not with Google: quota, capacity,
permissions and the plan-time checks written in the provider's own code are outside of it.

- ``server`` and ``wire`` speak Terraform's protocol, ``codec`` its values, ``provider`` answers the calls;
- ``check``, ``planning``, ``replacement``, ``sameness`` do what the provider does before anything exists;
- ``values``, ``semantics``, ``references``, ``cloud``, ``data_sources`` do what Google does afterwards;
- ``faults`` lets it fail.
"""
