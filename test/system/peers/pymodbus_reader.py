"""An HMI of others: reads and writes by pymodbus, and prints what came of each as a JSON line.

Usage: pymodbus_reader.py PORT ROUNDS
"""

import json
import sys
import time

from pymodbus.client import ModbusTcpClient


def outcome(result):
    if result.isError():
        return {"exception": getattr(result, "exception_code", None)}
    return {"registers": getattr(result, "registers", None) or getattr(result, "bits", None)}


def patiently(address, count):
    """As an HMI does: a server that is busy is asked again."""
    for _ in range(40):
        found = outcome(client.read_holding_registers(address, count, slave=1))
        if found.get("exception") != 6:
            break
        time.sleep(0.1)
    return found


client = ModbusTcpClient("127.0.0.1", port=int(sys.argv[1]), timeout=10)
if not client.connect():
    sys.exit("no connection")
for _ in range(int(sys.argv[2])):
    # Polled by the agent; not polled, but there; where no address answers; more than a read may ask.
    print(json.dumps({"polled": outcome(client.read_holding_registers(0, 2, slave=1))}), flush=True)
    print(json.dumps({"passed": patiently(100, 2)}), flush=True)
    print(json.dumps({"hole": patiently(300, 1)}), flush=True)
    print(json.dumps({"register": outcome(client.write_register(0, 5, slave=1))}), flush=True)
    print(json.dumps({"registers": outcome(client.write_registers(0, [1, 2], slave=1))}), flush=True)
    print(json.dumps({"coil": outcome(client.write_coil(16384, True, slave=1))}), flush=True)
    print(json.dumps({"mask": outcome(client.mask_write_register(0, 0, 0, slave=1))}), flush=True)
client.close()
