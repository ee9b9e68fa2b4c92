/* Questions about look-ups: what cuGetProcAddress, in either form, answers besides an address. */
#include <string.h>

#include "tests/gpu/answers.h"

static void reply_found(CUresult result, const void *function)
{
    bool untouched = (uintptr_t)function == UNTOUCHED;
    reply("%d, %s", result, untouched ? "untouched" : function ? "a function" : "NULL");
}

static void ask_both(const char *name, int version, cuuint64_t flags)
{
    void *function = (void *)(uintptr_t)UNTOUCHED;
    CUdriverProcAddressQueryResult status = UNTOUCHED;
    if (driver.cuGetProcAddress) {
        CUresult result = driver.cuGetProcAddress(name, &function, version, flags);
        reply_found(result, function);
    }
    reply("; ");
    function = (void *)(uintptr_t)UNTOUCHED;
    if (!driver.cuGetProcAddress_v2)
        return;
    CUresult result =
        driver.cuGetProcAddress_v2(name, &function, version, flags, &status);
    reply_found(result, function);
    reply(status == UNTOUCHED ? ", status untouched" : ", status %d", status);
}

void ask_lookup_missing(void)
{
    ask_both("cuNoSuchFunction", 12000, 0);
}

void ask_lookup_early(void)
{
    ask_both("cuMemAllocAsync", 10000, 0);
}

void ask_lookup_suffix(void)
{
    ask_both("cuMemAlloc_v2", 12000, 0);
}

void ask_lookup_empty(void)
{
    ask_both("", 12000, 0);
}

void ask_lookup_zero(void)
{
    ask_both("cuMemAlloc", 0, 0);
}

void ask_lookup_late(void)
{
    ask_both("cuMemAlloc", 99990, 0);
}

void ask_lookup_flags(void)
{
    ask_both("cuMemAlloc", 12000, 0x100);
}

void ask_lookup_both(void)
{
    ask_both("cuMemAlloc", 12000, 3);
}

void ask_lookup_self(void)
{
    static const int versions[] = {11030, 12000};
    for (size_t i = 0; driver.cuGetProcAddress && i < 2; i++) {
        void *function = NULL, *first, *second;
        memcpy(&first, &driver.cuGetProcAddress, sizeof first);
        memcpy(&second, &driver.cuGetProcAddress_v2, sizeof second);
        CUresult result =
            driver.cuGetProcAddress("cuGetProcAddress", &function, versions[i], 0);
        reply("%s%d, %s", i ? "; " : "", result,
              function == first    ? "the first"
              : function == NULL   ? "none"
              : function == second ? "the second"
                                   : "another");
    }
}

void ask_lookup_no_status(void)
{
    void *function = NULL;
    if (!driver.cuGetProcAddress_v2)
        return;
    CUresult result = driver.cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, NULL);
    reply_found(result, function);
}

void ask_lookup_no_output(void)
{
    if (driver.cuGetProcAddress)
        reply("%d", driver.cuGetProcAddress("cuMemAlloc", NULL, 12000, 0));
}
