"""A plant's subscriber, by paho: hears all topics of a broker, and prints a JSON line for each message.

Payloads of Sparkplug B are read by this file's own few lines of protobuf. Usage: subscriber.py PORT
"""

import json
import struct
import sys

import paho.mqtt.client as mqtt


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = data[at : at + 8], at + 8
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        elif kind == 5:
            value, at = data[at : at + 4], at + 4
        else:
            raise ValueError(f"wire type {kind}")
        yield number, value


def metric(data):
    found = {"historical": False, "null": False}
    for number, value in fields(data):
        if number == 1:
            found["name"] = value.decode()
        elif number == 2:
            found["alias"] = value
        elif number == 3:
            found["timestamp"] = value
        elif number == 4:
            found["datatype"] = value
        elif number == 5:
            found["historical"] = bool(value)
        elif number == 7:
            found["null"] = bool(value)
        elif number == 11:
            found["value"] = value
        elif number == 13:
            found["value"] = struct.unpack("<d", value)[0]
        elif number == 14:
            found["value"] = bool(value)
        elif number == 15:
            found["value"] = value.decode()
    return found


def payload(data):
    found = {"metrics": []}
    for number, value in fields(data):
        if number == 1:
            found["timestamp"] = value
        elif number == 2:
            found["metrics"].append(metric(value))
        elif number == 3:
            found["seq"] = value
    return found


def told(message):
    line = {"topic": message.topic, "retain": bool(message.retain), "qos": message.qos}
    if message.topic.startswith("spBv1.0/STATE/") or not message.topic.startswith("spBv1.0/"):
        line["text"] = message.payload.decode()
    else:
        line["payload"] = payload(message.payload)
    print(json.dumps(line), flush=True)


client = mqtt.Client(client_id="plant-subscriber", clean_session=True)
client.on_connect = lambda client, *_: client.subscribe("#", qos=1)
client.on_subscribe = lambda *_: print(json.dumps({"subscribed": True}), flush=True)
client.on_message = lambda _client, _data, message: told(message)
client.reconnect_delay_set(min_delay=1, max_delay=1)
client.connect("127.0.0.1", int(sys.argv[1]))
client.loop_forever(retry_first_connection=True)
