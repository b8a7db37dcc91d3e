"""A reader of StarDS version 1 of its own, from the specification alone, in plain Python.

    stards_reader.py FILE              a line of JSON for each item: layer, kind, key, dtype, shape, data as hexadecimal
    stards_reader.py --rules FILE      the same, once every rule that a writer is to keep is checked, too
    stards_reader.py --sidecars FILE.. checks the hashes of the data against FILE.json beside each file
"""

import hashlib
import json
import struct
import sys
import zlib
from pathlib import Path

DTYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 string".split()
SIZES = [1, 2, 4, 8, 1, 2, 4, 8, 4, 8]
NONE, GZIP, ZSTD, LZ4, GZIP_SHUFFLE, LZ4_SHUFFLE = range(6)
STRING = 10


class Cursor:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, count):
        part = self.data[self.at : self.at + count]
        assert len(part) == count, f"{count} bytes at {self.at} are not there"
        self.at += count
        return part

    def numbers(self, letter, count):
        return list(struct.unpack(f"<{count}{letter}", self.take(struct.calcsize(letter) * count)))

    def number(self, letter):
        return self.numbers(letter, 1)[0]

    def name(self):
        return self.take(self.number("H")).decode()


def lz4(block, size):
    out, at = bytearray(), 0

    def length(nibble):
        nonlocal at
        total = nibble
        while nibble == 15:
            total += block[at]
            at += 1
            if block[at - 1] != 255:
                break
        return total

    while True:
        token = block[at]
        at += 1
        literals = length(token >> 4)
        assert at + literals <= len(block)
        out += block[at : at + literals]
        at += literals
        if at == len(block):
            break
        distance = block[at] | block[at + 1] << 8
        at += 2
        assert 0 < distance <= len(out)
        left = length(token & 15) + 4
        while left:
            part = bytes(out[-distance:][:left])
            out += part
            left -= len(part)
    assert len(out) == size, f"{len(out)} bytes, not {size}"
    return bytes(out)


def inflate(block):
    decoder = zlib.decompressobj()
    out = decoder.decompress(block)
    assert decoder.eof and not decoder.unused_data
    return out


def count_of(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def strings(cursor, count, rules):
    total = cursor.number("I")
    start = cursor.at
    for _ in range(count):
        cursor.take(cursor.number("I"))
    assert not rules or total == cursor.at - start, "length of all strings"
    return cursor.data[start : cursor.at]


def murmur(data, seed=0xC70F6907):
    multiplier, mask = 0xC6A4A7935BD1E995, (1 << 64) - 1
    state = seed ^ (len(data) * multiplier & mask)
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        word = int.from_bytes(data[at : at + 8], "little") * multiplier & mask
        word = (word ^ word >> 47) * multiplier & mask
        state = (state ^ word) * multiplier & mask
    if whole < len(data):
        state = (state ^ int.from_bytes(data[whole:], "little")) * multiplier & mask
    state = (state ^ state >> 47) * multiplier & mask
    return state ^ state >> 47


class File:
    def __init__(self, data, rules):
        self.data, self.rules = data, rules
        cursor = Cursor(data)
        assert cursor.take(7) == b"STARDS\x01"
        self.header_size, entries, layers, keys = cursor.numbers("Q", 2) + cursor.numbers("I", 2)
        registry = [(cursor.name(), cursor.number("Q")) for _ in range(keys)]
        self.keys = [key for key, _ in registry]
        self.layers = []
        for _ in range(layers + 1):
            layer = dict(name=cursor.name())
            layer["position"], layer["size"], layer["codec"] = (
                cursor.number("Q"), cursor.number("I"), cursor.number("B"))
            layer["keys"] = cursor.numbers("H", cursor.number("H"))
            self.layers.append(layer)
        for layer in self.layers:
            layer["bitmap"] = cursor.numbers("Q", -(-entries // 64))
        self.index = [self.entry(cursor) for _ in range(entries)]
        if rules:
            assert all(hash == murmur(key.encode()) for key, hash in registry), "hashes"
            assert cursor.at == self.header_size, "header size"
            self.check_rules()

    @staticmethod
    def entry(cursor):
        entry = dict(key=cursor.number("H"))
        entry["position"], entry["total"], entry["dtype"] = cursor.numbers("Q", 2) + [cursor.number("B")]
        entry["shape"] = cursor.numbers("Q", cursor.number("Q"))
        entry["codec"], entry["block_size"] = cursor.number("B"), cursor.number("Q")
        entry["blocks"] = [cursor.numbers("Q", 3) for _ in range(cursor.number("Q"))]
        assert cursor.number("B") == 0, "flag"
        return entry

    def layer_of(self, storage_key):
        """The layer with the longest name that fits, and the key in it."""
        best = (0, storage_key)
        for number, layer in enumerate(self.layers):
            prefix = f"__layer_{layer['name']}__:"
            longer = best[0] == 0 or len(layer["name"]) > len(self.layers[best[0]]["name"])
            if layer["name"] != "__base__" and storage_key.startswith(prefix) and longer:
                best = (number, storage_key[len(prefix) :])
        return best

    def array(self, entry):
        payload = bytearray()
        for offset, stored, decoded in entry["blocks"]:
            block = self.data[entry["position"] + offset :][:stored]
            assert len(block) == stored
            if entry["codec"] in (GZIP, GZIP_SHUFFLE):
                assert not self.rules or block[0] == 0x78, "zlib framing"
                block = inflate(block)
            elif entry["codec"] in (LZ4, LZ4_SHUFFLE):
                block = lz4(block, decoded)
            else:
                assert entry["codec"] == NONE
            assert len(block) == decoded
            payload += block
        payload, count = bytes(payload), count_of(entry["shape"])
        if entry["dtype"] == STRING:
            if not payload:
                assert count == 0
                return payload
            cursor = Cursor(payload)
            texts = strings(cursor, count, self.rules)
            assert cursor.at == len(payload)
            return texts
        width = SIZES[entry["dtype"]]
        assert len(payload) == count * width
        if entry["codec"] in (GZIP_SHUFFLE, LZ4_SHUFFLE):
            elements = bytearray(len(payload))
            for plane in range(width):
                elements[plane::width] = payload[plane * count : (plane + 1) * count]
            payload = bytes(elements)
        return payload

    def metadata(self, layer):
        """The key, type, shape and data of each value."""
        if layer["size"] == 0:
            return
        block = self.data[layer["position"] :][: layer["size"]]
        assert len(block) == layer["size"]
        if layer["codec"] == GZIP:
            block = inflate(block)
        elif layer["codec"] == LZ4:
            block = lz4(block[8:], int.from_bytes(block[:8], "little"))
        else:
            assert layer["codec"] == NONE
        cursor = Cursor(block)
        assert cursor.take(9) == b"STARMETA\x01"
        assert cursor.name() == layer["name"]
        found = []
        for _ in range(cursor.number("H")):
            key, dtype, dimensions = cursor.number("H"), cursor.number("B"), cursor.number("B")
            shape = cursor.numbers("Q", dimensions)
            if dtype == STRING:
                data = strings(cursor, count_of(shape), self.rules)
            else:
                data = cursor.take(count_of(shape) * SIZES[dtype])
            found.append(key)
            yield self.keys[key], dtype, shape, data
        assert cursor.at == len(block)
        assert not self.rules or sorted(found) == layer["keys"], "metadata keys of the registry"

    def items(self):
        """Layer, kind, key, type, shape and data of each item; of arrays with one key, the last."""
        last = {self.keys[entry["key"]]: entry for entry in self.index}
        for key, entry in last.items():
            layer, key = self.layer_of(key)
            yield self.layers[layer]["name"], "array", key, entry["dtype"], entry["shape"], self.array(entry)
        for layer in self.layers:
            for key, dtype, shape, data in self.metadata(layer):
                yield layer["name"], "metadata", key, dtype, shape, data

    def check_rules(self):
        storage_keys = [self.keys[entry["key"]] for entry in self.index]
        assert len(set(self.keys)) == len(self.keys), "each key once"
        assert [entry["key"] for entry in self.index] == list(range(len(self.index))), "storage keys come first"
        assert self.layers[0]["name"] == "__base__", "the base layer comes first"
        bits = 64 * -(-len(self.index) // 64)
        for number, layer in enumerate(self.layers):
            expected = 0
            for index, storage_key in enumerate(storage_keys):
                of, key = self.layer_of(storage_key)
                if of != number:
                    continue
                expected |= 1 << index
                if key in self.keys and self.keys.index(key) < bits:
                    expected |= 1 << self.keys.index(key)
            found = sum(word << 64 * at for at, word in enumerate(layer["bitmap"]))
            assert found == expected, f"bitmap of {layer['name']}: {found:b}, not {expected:b}"
        end = self.header_size
        for entry in self.index:
            width = SIZES[entry["dtype"]] if entry["dtype"] != STRING and entry["codec"] == NONE else 1
            aligned = -(-end // width) * width
            assert entry["position"] == aligned, "position"
            assert not any(self.data[end:aligned]), "padding"
            assert entry["total"] == sum(stored for _, stored, _ in entry["blocks"]), "total bytes"
            payload = sum(decoded for _, _, decoded in entry["blocks"])
            assert len(entry["blocks"]) == -(-payload // entry["block_size"]), "number of blocks"
            assert all(block[2] == entry["block_size"] for block in entry["blocks"][:-1]), "size of blocks"
            end = aligned
            for offset, stored, _ in entry["blocks"]:
                assert aligned + offset == end, "offset of a block"
                end += stored
        for layer in self.layers:
            if layer["keys"]:
                assert layer["position"] == end, "position of metadata"
                end += layer["size"]
            else:
                assert (layer["position"], layer["size"], layer["codec"]) == (0, 0, 0), "no metadata"
        assert end == len(self.data), "end of the file"


def check_sidecar(path):
    layers = json.loads(path.with_suffix(".json").read_text())["layers"]
    expected = {
        (layer, kind, key): (item["dtype"], item["shape"], item["raw_sha256"])
        for layer, content in layers.items()
        for kind, plural in (("array", "arrays"), ("metadata", "metadata"))
        for key, item in content[plural].items()
    }
    found = {
        (layer, kind, key): (DTYPES[dtype], shape, hashlib.sha256(data).hexdigest())
        for layer, kind, key, dtype, shape, data in File(path.read_bytes(), False).items()
    }
    assert found == expected, f"{path}: {found}"


def main(arguments):
    if arguments[0] == "--sidecars":
        for path in arguments[1:]:
            check_sidecar(Path(path))
        return
    file = File(Path(arguments[-1]).read_bytes(), arguments[0] == "--rules")
    for layer, kind, key, dtype, shape, data in file.items():
        print(json.dumps([layer, kind, key, DTYPES[dtype], shape, data.hex()]))


main(sys.argv[1:])
