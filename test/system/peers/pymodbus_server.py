"""A pymodbus server whose registers are encoded by pymodbus itself.

usage: pymodbus_server.py tcp | rtu_tcp | serial PATH
The first line of standard input is JSON: {"registers": [{address, type, value, byte_order, word_order}], "bits": {address: 0|1}}.
Prints "ready PORT" (0 for a serial line) and serves until it is killed. From then on a line on standard input switches a fault:
    drop PERCENT SEED | wrong_ids NTH | close_at CODE (a request with that function ends the connection) | told
0 switches a fault off. "told" prints "faults COUNT": how many were made.
"""
import asyncio
import json
import random
import sys
import threading

from pymodbus.constants import Endian
from pymodbus.datastore import ModbusServerContext, ModbusSlaveContext, ModbusSparseDataBlock
from pymodbus.payload import BinaryPayloadBuilder
from pymodbus.server.async_io import ModbusConnectedRequestHandler, ModbusSerialServer, ModbusTcpServer
from pymodbus.transaction import ModbusRtuFramer, ModbusSocketFramer

ADD = {
    "uint16": "add_16bit_uint",
    "int16": "add_16bit_int",
    "uint32": "add_32bit_uint",
    "int32": "add_32bit_int",
    "uint64": "add_64bit_uint",
    "int64": "add_64bit_int",
    "float32": "add_32bit_float",
    "float64": "add_64bit_float",
    "string": "add_string",
}
ENDIAN = {"high_first": Endian.Big, "low_first": Endian.Little}


def registers_of(item):
    order = {"byteorder": ENDIAN[item["byte_order"]], "wordorder": ENDIAN[item["word_order"]]}
    kind, value = item["type"], item["value"]
    if kind == "bcd16":  # pymodbus has no BCD of its own: hexadecimal digits are the same digits
        kind, value = "uint16", int(str(value), 16)
    elif kind == "bcd32":
        kind, value = "uint32", int(str(value), 16)
    elif kind in ("int64", "uint64"):
        value = int(value)
    builder = BinaryPayloadBuilder(**order)
    getattr(builder, ADD[kind])(value)
    payload = b"".join(builder.build())
    return [int.from_bytes(payload[i : i + 2], "big") for i in range(0, len(payload), 2)]


class Faults:
    drop = wrong_ids = close_at = made = answers = 0
    chance = random.Random(0)


def read_faults():
    for line in sys.stdin:
        name, *values = line.split()
        if name == "told":
            print(f"faults {Faults.made}", flush=True)
        elif name == "drop":
            Faults.drop, Faults.chance = int(values[0]), random.Random(int(values[1]))
        elif name in ("wrong_ids", "close_at"):
            setattr(Faults, name, int(values[0]))


class Faulty(ModbusConnectedRequestHandler):
    def execute(self, request, *addr):
        if Faults.close_at != 0 and request.function_code == Faults.close_at:
            Faults.made += 1
            self.transport.close()
        else:
            super().execute(request, *addr)

    def send(self, message, *addr, **kwargs):
        Faults.answers += 1
        if Faults.chance.random() * 100 < Faults.drop:
            Faults.made += 1
            return
        if Faults.wrong_ids != 0 and Faults.answers % Faults.wrong_ids == 0:
            Faults.made += 1
            message.transaction_id = (message.transaction_id + 7) % 0x10000
        super().send(message, *addr, **kwargs)


async def main():
    mode = sys.argv[1]
    given = json.loads(sys.stdin.readline())
    threading.Thread(target=read_faults, daemon=True).start()
    words = {}
    for item in given["registers"]:
        for i, word in enumerate(registers_of(item)):
            words[item["address"] + i] = word
    bits = {int(address): value for address, value in given["bits"].items()}
    slave = ModbusSlaveContext(
        hr=ModbusSparseDataBlock(dict(words)),
        ir=ModbusSparseDataBlock(dict(words)),
        co=ModbusSparseDataBlock(dict(bits)),
        di=ModbusSparseDataBlock(dict(bits)),
        zero_mode=True,
    )
    context = ModbusServerContext(slaves={1: slave}, single=False)
    if mode == "serial":
        server = ModbusSerialServer(
            context, framer=ModbusRtuFramer, port=sys.argv[2], baudrate=19200, parity="N", stopbits=1, timeout=1
        )
        await server.start()
        print("ready 0", flush=True)
        await server.serve_forever()
        return
    framer = ModbusRtuFramer if mode == "rtu_tcp" else ModbusSocketFramer
    server = ModbusTcpServer(
        context, framer=framer, handler=Faulty, address=("127.0.0.1", 0), allow_reuse_address=True
    )
    serving = asyncio.ensure_future(server.serve_forever())
    while server.server is None:
        await asyncio.sleep(0.01)
    print(f"ready {server.server.sockets[0].getsockname()[1]}", flush=True)
    await serving


asyncio.run(main())
