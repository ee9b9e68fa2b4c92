"""JAX on the device: sums that must be the host's, and 4 GiB at once."""
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # read at the import

import jax
import jax.numpy as jnp
import numpy

assert jax.default_backend() == "gpu", "JAX finds no GPU"
host = numpy.arange(512 * 512, dtype=numpy.int32).reshape(512, 512) % 100
device = jnp.asarray(host)
print("sum:", int(device.sum()) == int(host.sum()))
product = numpy.asarray(jnp.dot(device.astype(jnp.float32), device.astype(jnp.float32)))
print("product:", numpy.allclose(product, host.astype(float) @ host.astype(float), rtol=1e-2))
try:
    jnp.zeros(4 << 30, dtype=jnp.uint8).block_until_ready()
    print("4 GiB more: granted")
except Exception as error:
    if "RESOURCE_EXHAUSTED" not in str(error):
        raise
    print("4 GiB more: refused")
print("after it:", int(device.sum()) == int(host.sum()))
