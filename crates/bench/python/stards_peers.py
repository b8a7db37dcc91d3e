"""Writes and reads an array of float64 with h5py, zarr and NumPy. Arguments: the file of the values, the runs."""

import os
import shutil
import sys
import time

import h5py
import numpy
import zarr

path, runs = sys.argv[1], int(sys.argv[2])
values = numpy.fromfile(path, dtype="<f8")
folder = os.path.dirname(path)


def fastest(work):
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def size(target):
    if os.path.isfile(target):
        return os.path.getsize(target)
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(target) for name in names)


def measure(name, target, write, read):
    target = os.path.join(folder, target)

    def write_anew():
        if os.path.isdir(target):
            shutil.rmtree(target)
        elif os.path.exists(target):
            os.remove(target)
        write(target)

    write_time = fastest(write_anew)
    read_time = fastest(lambda: read(target))
    assert numpy.array_equal(read(target), values)
    ratio = size(target) / values.nbytes
    speeds = [f"{values.nbytes / 1e6 / seconds:.0f} MB/s" for seconds in (write_time, read_time)]
    print(f"{name:32} {ratio:6.3f} {speeds[0]:>12} {speeds[1]:>12}", flush=True)


def write_h5py(**options):
    def write(target):
        with h5py.File(target, "w") as file:
            file.create_dataset("x", data=values, **options)

    return write


def read_h5py(target):
    with h5py.File(target, "r") as file:
        return file["x"][:]


def write_zarr(target):
    array = zarr.create_array(store=target, shape=values.shape, dtype=values.dtype, chunks=(1 << 17,))
    array[:] = values


def read_zarr(target):
    return zarr.open_array(target, mode="r")[:]


def read_npz(target):
    with numpy.load(target) as file:
        return file["x"]


print(f"h5py {h5py.__version__}, zarr {zarr.__version__}, NumPy {numpy.__version__}")
print(f"{'':32} {'ratio':>6} {'write':>12} {'read':>12}")
chunks = {"chunks": (1 << 17,)}
measure("h5py, contiguous", "none.h5", write_h5py(), read_h5py)
measure("h5py, gzip (level 4)", "gzip.h5", write_h5py(compression="gzip", **chunks), read_h5py)
measure("h5py, gzip, shuffle", "gs.h5", write_h5py(compression="gzip", shuffle=True, **chunks), read_h5py)
measure("h5py, lzf", "lzf.h5", write_h5py(compression="lzf", **chunks), read_h5py)
measure("zarr, default codecs", "x.zarr", write_zarr, read_zarr)
measure("NumPy, savez", "plain.npz", lambda target: numpy.savez(target, x=values), read_npz)
measure("NumPy, savez_compressed", "packed.npz", lambda target: numpy.savez_compressed(target, x=values), read_npz)
