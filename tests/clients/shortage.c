/* A program that runs the device out of memory itself: it holds 50 MiB, has freed 30 MiB, and asks
   for 80 MiB. Prints what the driver answered. Linked to the driver. */
#include "shim/driver_abi.h"

#include <stdio.h>

CUresult cuInit(unsigned flags);
CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);
CUresult cuCtxSynchronize(void);
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr address);

enum { MIB = 1 << 20 };

int main(void)
{
    CUcontext context;
    CUdeviceptr held, small, large, more;
    if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuMemAlloc_v2(&held, 50 * MIB) ||
        cuMemAlloc_v2(&small, 10 * MIB) || cuMemAlloc_v2(&large, 20 * MIB) ||
        cuMemFree_v2(small) || cuMemFree_v2(large) || cuCtxSynchronize())
        return 1;
    printf("answer %d\n", (int)cuMemAlloc_v2(&more, 80 * MIB));
    return 0;
}
