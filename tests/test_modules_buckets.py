from blueprint_factory import dev, platform, stack

BUCKET = "google_storage_bucket"


def bucket(env="ml-dev", **spec):
    made = platform({env: {"storage": {"buckets": {"b": spec}}}}, foundation=False)
    return stack(made, env).graph[f"{BUCKET}.b"]


def test_buckets_are_never_public():
    for made in dev().of_type(BUCKET):
        assert made.attributes["uniform_bucket_level_access"] is True
        assert made.attributes["public_access_prevention"] == "enforced"


def test_a_hierarchical_namespace_has_no_versions():
    made = bucket(hierarchical=True).attributes
    assert made["hierarchical_namespace"] == {"enabled": True}
    assert "versioning" not in made
    assert bucket(versioning=True).attributes["versioning"] == {"enabled": True}
    assert bucket().attributes["versioning"] == {"enabled": False}
    assert "hierarchical_namespace" not in bucket().attributes


def test_deleted_objects_can_be_restored_for_a_while():
    def seconds(**spec):
        return bucket(**spec).attributes["soft_delete_policy"]["retention_duration_seconds"]

    assert seconds() == seconds(soft_delete="7d") == 7 * 86400
    assert seconds(soft_delete="30d") == 30 * 86400
    assert seconds(soft_delete="0s") == 0


def test_only_unprotected_buckets_can_be_destroyed_with_what_is_in_them():
    loose, kept = bucket(), bucket("ml-prod")
    assert (loose.attributes["force_destroy"], loose.lifecycle.prevent_destroy) == (True, False)
    assert (kept.attributes["force_destroy"], kept.lifecycle.prevent_destroy) == (False, True)


def test_locations_and_names():
    assert bucket().attributes["location"] == "US-CENTRAL1"
    assert bucket(location="eu").attributes["location"] == "EU"
    assert bucket().attributes["name"] == "llm-ml-dev-b"
    assert bucket(name="acme-weights").attributes["name"] == "acme-weights"
    assert bucket(generation=2).attributes["name"] == "llm-ml-dev-b-g2"


def test_an_existing_bucket_is_used_and_not_made():
    made = platform(
        {"ml-dev": {"storage": {"buckets": {"datasets": {"existing": "acme-raw"}}}}}, foundation=False
    )
    graph = stack(made).graph
    assert f"{BUCKET}.datasets" not in graph
    found = graph[f"data.{BUCKET}.datasets"]
    assert found.attributes == {"name": "acme-raw"}
    grant = graph["google_storage_bucket_iam_member.trainer_datasets"]
    assert grant.attributes["bucket"] == found["name"]
