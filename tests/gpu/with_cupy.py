"""CuPy on the device: sums that must be the host's, by its pool and by the stream-ordered one, and 4 GiB at once."""
import cupy
import numpy

host = numpy.arange(512 * 512, dtype=numpy.int32).reshape(512, 512) % 100
for name in ("pool", "stream-ordered"):
    if name == "stream-ordered":
        cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
    device = cupy.asarray(host)
    print(name, "sum:", int(device.sum()) == int(host.sum()))
    print(name, "product:", bool((cupy.asnumpy(device @ device) == host @ host).all()))
cupy.cuda.set_allocator(None)
try:
    cupy.empty(4 << 30, dtype=cupy.uint8)
    print("4 GiB more: granted")
except cupy.cuda.memory.OutOfMemoryError:
    print("4 GiB more: refused")
except cupy.cuda.runtime.CUDARuntimeError as error:
    print("4 GiB more: refused" if "OutOfMemory" in str(error) else error)
print("after it:", int(device.sum()) == int(host.sum()))
