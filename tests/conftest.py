"""What the quick run leaves out, to stay under two minutes on two cores; ``make test-all`` has it all.

Each of these takes seconds of Terraform and shows what a quicker test shows too in its main lines.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

SLOW = (
    "test_accelerator_modules_offline.py::*",
    "test_base.py::test_a_base_that_cannot_be_applied_says_so_and_keeps_the_logs",
    "test_base.py::test_an_environment_that_left_the_blueprint_is_told_whole",
    "test_base.py::test_what_the_foundation_learns_is_known_and_what_did_not_change_is_not_run",
    "test_bundle.py::test_a_bundle_does_what_it_says_without_asking",
    "test_bundle.py::test_a_real_bundle_knows_which_providers_were_installed",
    "test_bundle.py::test_what_is_protected_is_not_replaced_by_a_bundle_either",
    "test_cdktf.py::*cdktf]",
    "test_cdktf.py::test_it_says_what_the_writer_says*cdktf]",
    "test_cdktf.py::test_the_shipped_blueprints*",
    "test_cli_life.py::test_a_failed_apply_goes_on_where_it_stopped",
    "test_cli_output.py::test_colours_are_for_terminals_that_want_them",
    "test_crossings.py::test_a_crossing_is_applied_rests_and_goes",
    "test_documentation.py::test_what_a_page_shows_happens*offline.md]",
    "test_fault_campaign.py::*[02468]?",
    "test_fault_campaign.py::*[79]?",
    "test_fault_campaign.py::test_a_failing_bucket_loses_nothing_and_is_healed",
    "test_foundation_bootstrap.py::*binary]",
    "test_foundation_bootstrap.py::test_a_bucket_that_is_gone_is_no_reason_to_begin_anew",
    "test_foundation_bootstrap.py::test_a_crash_while_it_moves_loses_nothing",
    "test_foundation_bootstrap.py::test_a_plan_that_loses_the_own_state_is_known",
    "test_foundation_bootstrap.py::test_an_apply_that_failed_before_the_bucket_goes_on_locally",
    "test_foundation_bootstrap.py::test_two_that_begin_at_the_same_time_do_not_overwrite_each_other",
    "test_import_command.py::test_a_lost_state_is_found_again",
    "test_inside_offline.py::*",
    "test_offline_every_type.py::*",
    "test_perimeter_offline.py::test_a_shared_network_and_an_endpoint_come_and_go",
    "test_perimeter_offline.py::test_an_environment_lives_and_goes_in_its_perimeter",
    "test_real_cli.py::test_an_environment_is_destroyed_and_no_other",
    "test_real_cli.py::test_an_identity_that_may_only_read_plans_what_was_applied_before",
    "test_real_cli.py::test_an_installed_engine_does_the_same",
    "test_real_path.py::*binary]",
    "test_real_path.py::test_a_local_state_moves_into_its_bucket",
    "test_real_path.py::test_a_plan_is_stale_once_somebody_else_has_applied",
    "test_real_path.py::test_a_state_that_the_bucket_refused_once_does_not_fail_the_apply",
    "test_real_path.py::test_the_life_of_environments*",
    "test_real_path.py::test_what_left_the_blueprint_is_destroyed_from_its_state_alone",
    "test_shipped_blueprints.py::*batch-flex]",
    "test_shipped_blueprints.py::*serving-shared]",
    "test_shipped_blueprints.py::*training-h100]",
    "test_shipped_blueprints.py::*training-tpu]",
    "test_terraform_session.py::*binary]",
    "test_terraform_session.py::test_cloud_and_states_outlive_a_session",
    "test_tombstones.py::test_the_life_after_an_environment_left_the_file",
    "test_trust.py::*empty]",
    "test_trust.py::*finish]",
    "test_trust.py::*half]",
    "test_trust.py::test_an_engine_that_outlived_its_groundplan_is_waited_for",
    "test_trust.py::test_ids_come_from_the_configuration_alone",
    "test_trust.py::test_what_could_not_be_destroyed_is_named_although_terraform_does_not",
    "test_trust.py::test_what_is_half_made_and_protected_can_be_kept",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow; the marker expression in pyproject.toml leaves it out of the quick run."""
    for item in items:
        name = f"{item.path.name}::{item.name}"
        if any(fnmatchcase(name, pattern) for pattern in SLOW):
            item.add_marker(pytest.mark.slow)
