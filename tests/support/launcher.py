"""What Terraform starts as the provider: go-plugin's handshake, then every byte to the stand-in and back.

Each start is one provider instance with a connection of its own. It ends when Terraform hangs up.
"""

import json
import os
import pathlib
import re
import socket
import sys
import threading

HANDSHAKE = "1|5|tcp|127.0.0.1:{port}|grpc\n"  # go-plugin's version, the protocol's, where and how


def pump(source: socket.socket, target: socket.socket) -> None:
    """Copy until one side hangs up; then nothing is left to do."""
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
    finally:
        os._exit(0)


#: The value of TF_REATTACH_PROVIDERS that the stand-in gave.
standins = json.loads(os.environ["STANDIN_ADDRESSES"])
provider = re.search(r"provider-(.+)_v", pathlib.Path(sys.argv[0]).name)[1]
host, port = standins[f"registry.terraform.io/hashicorp/{provider}"]["Addr"]["String"].split(":")
listening = socket.create_server(("127.0.0.1", 0))
listening.settimeout(60)  # for an engine that was killed before it called
sys.stdout.write(HANDSHAKE.format(port=listening.getsockname()[1]))
sys.stdout.flush()
engine, _ = listening.accept()
standin = socket.create_connection((host, int(port)))
for connection in (engine, standin):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or each small message waits 40 ms
threading.Thread(target=pump, args=(standin, engine)).start()
pump(engine, standin)
