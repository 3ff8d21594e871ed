"""Saved plans: what was looked at is what is applied, or nothing is.

``plan --out DIR`` writes one bundle for each stack, ``apply --plan DIR`` applies it:

    DIR/STACK/
      plan.tfplan     Terraform's plan file, mode 0600; sensitive values stand in it in clear
      plan.json       the same plan as JSON, redacted
      bundle.json     the manifest: what the plan was made from, and digests of the other two files

Only ``plan.json`` and ``bundle.json`` may be shown or uploaded for everybody to see. The plan file holds
values of the state and of the configuration, secrets included: it belongs only where the state may be.

The digests, and the seal over the manifest itself, tell that something was damaged, mixed up or edited. That
is integrity, not authenticity: who may write all three files can write others that fit together. Where that
matters, keep the seal in a safe place (``plan --out --json`` prints it) or sign the folder.
"""
