/* The exported functions. Each macro here makes a whole function, from one row; the work
   is in the ordinary function that the row names. A refused one takes no parameters: the
   caller passes them where nobody looks. */
#include "tools/simcuda/names.h"

#include "tools/simcuda/entry.h"

#define DONE(symbol, base, since, stream, need, worker, parameters, arguments)           \
    CUresult symbol parameters                                                           \
    {                                                                                    \
        CUresult unmet =                                                                 \
            sim_entry_begin(SIM_CALL_##symbol, SIM_NEED_##need, SIM_##stream);           \
        return sim_entry_end(SIM_CALL_##symbol,                                          \
                             unmet == CUDA_SUCCESS ? worker arguments : unmet);          \
    }
#define REFUSED(symbol, base, since, stream)                                             \
    CUresult symbol(void)                                                                \
    {                                                                                    \
        sim_entry_begin(SIM_CALL_##symbol, SIM_NEED_NOTHING, SIM_##stream);              \
        return sim_entry_end(SIM_CALL_##symbol, CUDA_ERROR_NOT_SUPPORTED);               \
    }
#include "tools/simcuda/names.def"
