import textwrap

import pytest
from blueprint_texts import TOP, document

from groundplan.blueprints.library import library_blueprints
from groundplan.blueprints.reader import read
from groundplan.blueprints.show import as_data, as_text
from groundplan.errors import UsageError

TEXT = """\
defaults:
  labels: {"example": "a-b"}
  clusters:
    main:
      node_pools:
        system: {machine: e2-standard-4, nodes: 1}
environments:
  ml-dev:
  ml-prod:
    region: europe-west4
    storage:
      buckets:
        checkpoints: {soft_delete: 7d}
    clusters:
      main:
        maintenance:
          window: {days: [sat, sun], start: "02:00", duration: 8h}
        node_pools:
          system: {boot_disk: {size: 200GiB}, capacity: spot}
"""


def test_the_merged_environment_with_the_place_of_each_value():
    assert as_text(document(TEXT), "ml-prod", origins=True) == textwrap.dedent("""\
        tier: production                                  # from the name ml-prod
        protect: true                                     # from the tier
        region: europe-west4                              # llm.yaml:12
        project:
          id: llm-ml-prod                                 # from names.project
        labels:
          example: "a-b"                                  # llm.yaml:4
        clusters:
          main:
            node_pools:
              system:
                machine: e2-standard-4                    # llm.yaml:8
                nodes: 1                                  # llm.yaml:8
                boot_disk:
                  size: 200GiB                            # llm.yaml:21
                capacity: spot                            # llm.yaml:21
            maintenance:
              window:
                days:
                  - sat                                   # llm.yaml:19
                  - sun                                   # llm.yaml:19
                start: "02:00"                            # llm.yaml:19
                duration: 8h                              # llm.yaml:19
        storage:
          buckets:
            checkpoints:
              soft_delete: 7d                             # llm.yaml:15
        """)


def test_without_origins_there_are_no_comments():
    text = as_text(document(TEXT), "ml-dev")
    assert "#" not in text
    assert "tier: development" in text


@pytest.mark.parametrize("path", library_blueprints().values(), ids=lambda path: path.stem)
def test_what_is_shown_reads_as_the_same_environment(path):
    made = read(path)
    for name, environment in made.blueprint.environments.items():
        shown = textwrap.indent(as_text(made, name, origins=True), "    ")
        top = f"apiVersion: groundplan/v1\nname: {made.blueprint.name}\n"
        again = read("x.yaml", text=f"{top}environments:\n  {name}:\n{shown}").blueprint.environments[name]
        assert again.model_dump(exclude={"project"}) == environment.model_dump(exclude={"project"})


def test_unusual_text_survives_being_shown():
    odd = 'a\\tb\\u2028\\U0001F600 \\" \\\\ # no comment'
    made = document(f'environments: {{ml-dev: {{gitops: {{repository: "{odd}", directory: "null"}}}}}}')
    shown = textwrap.indent(as_text(made, "ml-dev"), "    ")
    again = read("x.yaml", text=f"{TOP}environments:\n  ml-dev:\n{shown}").blueprint
    assert again.environments["ml-dev"].gitops == made.blueprint.environments["ml-dev"].gitops


def test_as_data_everything_is_there_in_the_units_people_write():
    data = as_data(document(TEXT), "ml-prod")
    main = data["clusters"]["main"]
    assert data["storage"]["buckets"]["checkpoints"]["soft_delete"] == "7d"
    assert main["maintenance"]["window"]["duration"] == "8h"
    assert main["node_pools"]["system"]["boot_disk"] == {"type": "pd-balanced", "size": "200GiB"}
    assert (main["node_pools"]["system"]["nodes"], main["node_pools"]["system"]["capacity"]) == (1, "spot")
    assert data["bucket_names"] == {"checkpoints": "llm-ml-prod-checkpoints"}


def test_as_data_with_origins():
    data = as_data(document(TEXT), "ml-prod", origins=True)
    assert data["values"] == as_data(document(TEXT), "ml-prod")
    assert data["origins"]["clusters.main.maintenance.window.days[1]"] == "llm.yaml:19"
    assert data["origins"]["protect"] == "from the tier"


def test_an_environment_that_is_not_there():
    with pytest.raises(UsageError) as caught:
        as_text(document(TEXT), "ml-prd")
    assert "ml-prod" in caught.value.hint
