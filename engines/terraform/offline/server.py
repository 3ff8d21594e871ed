"""The stand-in as a process: ``python -m groundplan.engines.terraform.offline.server --cloud DIR``.

Prints one JSON line, the value for ``TF_REATTACH_PROVIDERS``, and serves until its standard input is
closed, so that it dies with whoever started it. It listens on 127.0.0.1 only. google and google-beta
get a port each, because the protocol does not say which provider a call is meant for, and TCP because
each connection then has an address of its own; over a unix socket the settings of two aliases could
not be told apart.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc

from groundplan.facts.schema import PROVIDERS

from .cloud import Cloud, Refused
from .faults import Faults
from .provider import Provider, error
from .wire import METHODS, Method, pb

_LOG = logging.getLogger("groundplan.offline")

#: Terraform and OpenTofu know the same providers under different addresses.
_REGISTRIES = ("registry.terraform.io", "registry.opentofu.org")
_NO_LIMITS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
#: More than Terraform's parallelism, so that slow operations do not hold up the others.
_THREADS = 32


def main(arguments: list[str] | None = None) -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(prog="groundplan-offline", description="Offline stand-in for google")
    parser.add_argument("--cloud", type=Path, required=True, help="folder of the stand-in's objects")
    parser.add_argument("--log", type=Path, help="write calls and tracebacks to this file")
    parser.add_argument("--types", type=Path, help="file with the resource types to serve, one a line")
    options = parser.parse_args(arguments)
    if options.log:
        logging.basicConfig(
            filename=options.log, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
        )
    options.cloud.mkdir(mode=0o700, parents=True, exist_ok=True)
    types = frozenset(options.types.read_text().split()) if options.types else None
    cloud, faults = Cloud(options.cloud), Faults.from_environment()
    reattach: dict[str, Any] = {}
    servers = []
    for name in PROVIDERS:
        server, port = _serve(Provider(name, cloud, faults, types))
        servers.append(server)
        reattach |= {f"{host}/hashicorp/{name}": _reattach(port) for host in _REGISTRIES}
    sys.stdout.write(json.dumps(reattach) + "\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
    _LOG.info("stopped after %.2f s of CPU time", time.process_time())
    logging.shutdown()
    os._exit(0)  # without waiting for calls that a made-up failure still delays


def _reattach(port: int) -> dict[str, Any]:
    return {
        "Protocol": "grpc",
        "ProtocolVersion": 5,
        "Pid": os.getpid(),
        "Test": True,  # Terraform leaves the process running
        "Addr": {"Network": "tcp", "String": f"127.0.0.1:{port}"},
    }


def _serve(provider: Provider) -> tuple[grpc.Server, int]:
    server = grpc.server(ThreadPoolExecutor(_THREADS), options=_NO_LIMITS)
    handlers = {name: _handler(provider, name, method) for name, method in METHODS.items()}
    shutdown = grpc.unary_unary_rpc_method_handler(lambda request, context: b"")
    healthy = grpc.unary_unary_rpc_method_handler(lambda request, context: b"\x08\x01")
    server.add_generic_rpc_handlers(
        (
            grpc.method_handlers_generic_handler("tfplugin5.Provider", handlers),
            grpc.method_handlers_generic_handler("plugin.GRPCController", {"Shutdown": shutdown}),
            grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": healthy}),
        )
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


def _handler(provider: Provider, name: str, method: Method) -> Any:
    serve: Callable[[Any, str], Any] = getattr(provider, method.handler)

    def call(request: Any, context: grpc.ServicerContext) -> bytes:
        try:
            answer = serve(request, context.peer())
        except Refused as refusal:
            _LOG.info("%s %s: %s", name, getattr(request, "type_name", ""), refusal.summary)
            answer = _refusal(method, request, error(refusal.summary, refusal.detail))
        except Exception as bug:
            _LOG.exception("%s %s", name, getattr(request, "type_name", ""))
            text = f"The offline provider failed: {type(bug).__name__}: {bug}"
            detail = f"In {name} {getattr(request, 'type_name', '')}. This is a mistake in groundplan."
            answer = _refusal(method, request, error(text, detail))
        return answer if isinstance(answer, bytes) else answer.SerializeToString()

    return grpc.unary_unary_rpc_method_handler(call, getattr(pb, method.request).FromString)


def _refusal(method: Method, request: Any, diagnostic: Any) -> Any:
    answer = getattr(pb, method.response)(diagnostics=[diagnostic])
    if method.handler == "apply":
        # What Terraform records is what was there before, never an object without an id.
        answer.new_state.CopyFrom(request.prior_state)
        answer.private = request.planned_private
    return answer


if __name__ == "__main__":
    main()
