"""Reads the body of a chunk as docs/reference/wire.md describes it, and prints its records as JSON lines.

    python3 read_chunk.py S0 MONO0 < body
"""

import json
import struct
import sys
import zlib

QUALITIES = ["good", "uncertain", "bad"]
TEXT, SINGLE, DOUBLE, COVERAGE, BOOLEAN = 100, 101, 102, 103, 104


class Source:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, length):
        taken = self.data[self.at : self.at + length]
        if len(taken) != length:
            raise ValueError("cut short")
        self.at += length
        return taken

    def number(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def signed(self):
        code = self.number()
        return -(code + 1) // 2 if code % 2 else code // 2


def values_of(way, data, tag, monos):
    if way == TEXT:
        return json.loads(data)
    source, last, counts, found = Source(data), 0, [0, 0, 0], []
    for mono in monos:
        if way == COVERAGE:
            counts = [count + source.signed() for count in counts]
            length, polls, widest = counts
            value = {"group": tag, "from": mono, "to": mono + length, "polls": polls, "max_interval_ms": widest}
            found.append(value)
            continue
        code = source.number()
        if code == 0:
            found.append(None)
        elif way == BOOLEAN:
            found.append(code == 2)
        elif way == DOUBLE:
            found.append(struct.unpack("<d", source.take(8))[0])
        else:
            last += (code - 1) // 2 if code % 2 else -(code // 2)
            if way == SINGLE:
                found.append(struct.unpack(">f", struct.pack(">i", last))[0])
            else:
                found.append(last / 10**way if way else last)
    return found


def read(body, s0, mono0):
    head = Source(body)
    assert head.take(1) == b"\x03", "another version"
    head.take(1)
    count, seqs, seq = head.number(), [], s0
    for _ in range(head.number()):
        seq += head.number()
        length = head.number()
        seqs += range(seq, seq + length)
        seq += length
    lengths = [head.number(), head.number()]
    a, b = (Source(zlib.decompress(head.take(length), wbits=-15)) for length in lengths)
    assert head.at == len(body) and len(seqs) == count
    series = []
    for _ in range(a.number()):
        kind, tag = chr(a.number()), a.take(a.number()).decode()
        series.append((kind, tag, a.number(), a.number(), a.number()))
    monos, polls, usual = [], a.number(), a.signed()
    for _ in range(polls):
        mono0 += usual + a.signed()
        monos.append(mono0)
    records = []
    for kind, tag, way, own, length in series:
        poll, numbers = -1, []
        for _ in range(own):
            poll += 1 + a.number()
            numbers.append(poll)
        values = values_of(way, b.take(length), tag, [monos[number] for number in numbers])
        records += [[number, kind, tag, monos[number], value, "good"] for number, value in zip(numbers, values)]
    index = 0
    while b.at < len(b.data):
        index += b.number()
        records[index][-1] = QUALITIES[b.number()]
        index += 1
    # Python sorts stably: within a poll, series stay in their order.
    records.sort(key=lambda record: record[0])
    names = ["kind", "tag", "mono", "value", "quality"]
    return [{"seq": seq, **dict(zip(names, record[1:]))} for seq, record in zip(seqs, records)]


if __name__ == "__main__":
    for record in read(sys.stdin.buffer.read(), int(sys.argv[1]), int(sys.argv[2])):
        print(json.dumps(record))
