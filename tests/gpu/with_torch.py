"""PyTorch on the device: sums that must be the host's, copies by page-locked memory, and 4 GiB at once."""
import torch

torch.manual_seed(1)
host = torch.randint(0, 100, (512, 512), dtype=torch.int32)
device = host.cuda()
print("sum:", int(device.sum()) == int(host.sum()))
product = (device.float() @ device.float()).cpu()
print("product:", torch.allclose(product, host.float() @ host.float(), rtol=1e-3))
pinned = host.pin_memory()
print("pinned:", torch.equal(pinned.to("cuda", non_blocking=True).cpu(), host))
for size in (1 << 10, 1 << 20, 1 << 26):
    blocks = [torch.full((size,), index, dtype=torch.uint8, device="cuda") for index in range(8)]
    print("blocks of", size, all(int(block[-1]) == index for index, block in enumerate(blocks)))
    del blocks
torch.cuda.empty_cache()
try:
    torch.empty(4 << 30, dtype=torch.uint8, device="cuda")
    print("4 GiB more: granted")
except torch.cuda.OutOfMemoryError:
    print("4 GiB more: refused")
print("after it:", int(device.sum()) == int(host.sum()))
