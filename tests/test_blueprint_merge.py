from blueprint_texts import document, found, only


def environment(text, name="ml-dev"):
    return document(text).blueprint.environments[name]


def test_maps_merge_by_key_at_every_depth():
    env = environment("""
        defaults:
          labels: {team: ml, tier: x}
          clusters:
            main:
              zones: [a]
              node_pools:
                system: {machine: e2-standard-4, nodes: 1}
        environments:
          ml-dev:
            labels: {tier: y}
            clusters:
              main:
                node_pools:
                  system: {machine: e2-standard-8}
                  l4: {machine: g2-standard-4, nodes: 1}
    """)
    main = env.clusters["main"]
    assert env.labels == {"team": "ml", "tier": "y"}
    assert list(main.node_pools) == ["system", "l4"]
    assert (main.node_pools["system"].machine, main.node_pools["system"].nodes.max) == ("e2-standard-8", 1)
    assert main.zones == ("a",)


def test_scalars_lists_and_single_decisions_win_whole():
    pool = (
        environment("""
        defaults:
          clusters:
            main:
              node_pools:
                system: {machine: e2-standard-4, nodes: 1}
                x:
                  machine: g2-standard-4
                  nodes: {min: 2, max: 3}
                  capacity: {reservation: {name: h200, project: ml-capacity}}
                  gpu: {driver: latest, sharing: {strategy: mps, clients: 4}}
                  zones: [a, b]
        environments:
          ml-dev:
            clusters:
              main:
                node_pools:
                  x:
                    nodes: {max: 8}
                    capacity: {reservation: h100}
                    gpu: {sharing: {strategy: time-sharing, clients: 2}}
                    zones: [c]
    """)
        .clusters["main"]
        .node_pools["x"]
    )
    assert (pool.nodes.min, pool.nodes.max) == (0, 8)
    assert (pool.capacity.reservation.name, pool.capacity.reservation.project) == ("h100", None)
    assert (pool.gpu.driver, pool.gpu.sharing.strategy) == ("latest", "time-sharing")
    assert pool.zones == ("c",)


def test_a_single_decision_wins_whole_however_it_is_written():
    text = """
        defaults:
          clusters: {{main: {{node_pools: {{x: {{machine: e2-standard-4, nodes: {below}}}}}}}}}
        environments:
          ml-dev: {{clusters: {{main: {{node_pools: {{x: {{nodes: {above}}}}}}}}}}}
    """
    for below, above, expected in [
        ("{min: 1, max: 3}", "3", (3, 3, True)),
        ("3", "{max: 4}", (0, 4, False)),
        ("1", "2", (2, 2, True)),
    ]:
        nodes = environment(text.format(below=below, above=above)).clusters["main"].node_pools["x"].nodes
        assert (nodes.min, nodes.max, nodes.fixed) == expected


def test_free_keys_named_like_single_decisions_merge():
    env = environment("""
        defaults: {storage: {buckets: {nodes: {versioning: true}, sharing: {}}}}
        environments: {ml-dev: {storage: {buckets: {nodes: {location: EU}}}}}
    """)
    assert env.storage.buckets["nodes"].versioning
    assert env.storage.buckets["nodes"].location == "EU"
    assert "sharing" in env.storage.buckets


def test_blank_is_an_empty_map_and_null_removes():
    text = """
        defaults:
          labels: {team: ml}
          network: {nat: true}
          storage: {buckets: {raw: {}, models: {versioning: true}}}
        environments:
          ml-dev:
            labels:
            storage:
              buckets:
                raw: null
                models:
          ml-staging:
          ml-prod: {network: ~, labels: {team: null}, storage: null}
    """
    environments = document(text).blueprint.environments
    assert environments["ml-dev"].labels == {"team": "ml"}
    assert list(environments["ml-dev"].storage.buckets) == ["models"]
    assert environments["ml-dev"].storage.buckets["models"].versioning
    assert environments["ml-staging"].network.nat
    assert not environments["ml-prod"].network.nat
    assert environments["ml-prod"].labels == {}
    assert environments["ml-prod"].storage.buckets == {}


def test_quoted_null_is_text():
    assert environment('environments: {ml-dev: {labels: {team: "null"}}}').labels == {"team": "null"}


def test_an_environment_is_never_removed():
    text = "environments: {ml-dev: null, ml-prod: {}}"
    assert list(document(text).blueprint.environments) == ["ml-dev", "ml-prod"]
    warning = only(text)
    assert (warning.severity, warning.code) == ("warning", "BP005")


def test_a_null_that_removes_nothing_is_probably_a_slip():
    warning = only("""
        defaults: {storage: {buckets: {datasets: {}}}}
        environments: {ml-dev: {storage: {buckets: {dataset: null}}}}
    """)
    assert (warning.severity, warning.code) == ("warning", "BP005")
    assert "`datasets`" in warning.hint
    assert warning.path == "environments.ml-dev.storage.buckets.dataset"


def test_lists_do_not_take_null_and_values_no_blank():
    problems = found("""
        environments:
          ml-dev:
            region:
            apis: [null]
            clusters: {main: {zones: }}
    """)
    assert [(one.code, one.message) for one in problems if one.severity == "error"] == [
        ("BP006", "`region` is left blank"),
        ("BP003", "`apis[0]` wants one value, not null"),
        ("BP006", "`zones` is left blank"),
    ]


def test_values_of_free_maps_are_read_by_the_core_schema():
    env = environment("""
        environments:
          ml-dev:
            terraform:
              patch:
                google_container_cluster.main:
                  a: 3
                  b: 1.5
                  c: true
                  d: "3"
                  e: 1.2.3
                  f: [1, no, null]
                  g: 123456789012345678901234
                  h: {i: 0.30}
    """)
    assert env.terraform.patch["google_container_cluster.main"] == {
        "a": 3, "b": 1.5, "c": True, "d": "3", "e": "1.2.3", "f": [1, "no", None],
        "g": "123456789012345678901234", "h": {"i": 0.3},
    }  # fmt: skip


def test_every_value_knows_where_it_was_written():
    made = document("""
        defaults:
          region: europe-west4
          clusters:
            main:
              node_pools: {system: {machine: e2-standard-4, nodes: 1}}
        environments:
          ml-dev:
            clusters:
              main:
                node_pools:
                  system: {nodes: 2}
          ml-prod:
    """)

    def place(environment, path):
        position = made.position_of(environment, path)
        return position.line, position.column

    pool = "clusters.main.node_pools.system"
    assert place("ml-dev", f"{pool}.machine") == place("ml-prod", f"{pool}.machine") == (8, 38)
    assert place("ml-dev", f"{pool}.nodes") == (14, 27)
    assert place("ml-prod", ("clusters", "main", "node_pools", "system", "nodes")) == (8, 60)
    assert place("ml-dev", "region") == (5, 11)
    assert place("ml-prod", "network.nat") == (15, 3), "not written: the environment's key"
    assert place("ml-dev", f"{pool}.boot_disk.size") == (14, 11), "not written: the pool's key"
    assert place(None, "name") == (2, 7)
